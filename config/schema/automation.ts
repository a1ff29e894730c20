import { Type } from '@sinclair/typebox'
import { setting } from '../setting.js'
import { Amount, Flag, HttpUrl, Name, Text } from './shape.js'

const secret = (env: string, about: string) =>
  setting({ env, type: Text, default: '', about, reload: 'hot', secret: true })

const McpServerSetting = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 256 }),
    transport: Type.Optional(Type.Union([Type.Literal('stdio'), Type.Literal('http')])),
    command: Type.Optional(Type.String({ maxLength: 4096 })),
    args: Type.Optional(Type.Array(Type.String({ maxLength: 65_536 }), { maxItems: 1000 })),
    url: Type.Optional(Type.String({ maxLength: 4096 })),
    headers: Type.Optional(Type.Record(Type.String(), Type.String())),
  },
  { additionalProperties: false },
)

/** What happens without a person: schedules, callbacks, watchers, senders of webhooks, tool servers. */
export const AUTOMATION_SETTINGS = {
  'cron.jitter_enabled': setting({
    env: 'SVC_CRON_JITTER_ENABLED',
    type: Flag,
    default: true,
    about: 'Random delay on cron fire times.',
    reload: 'hot',
  }),
  'cron.jitter_min_sec': setting({
    env: 'SVC_CRON_JITTER_MIN_SEC',
    type: Amount,
    default: 60,
    about: 'Shortest delay in seconds.',
    reload: 'hot',
  }),
  'cron.jitter_max_sec': setting({
    env: 'SVC_CRON_JITTER_MAX_SEC',
    type: Amount,
    default: 300,
    about: 'Longest delay in seconds.',
    reload: 'hot',
  }),
  'cron.avoid_minute_marks': setting({
    env: undefined,
    type: Type.Array(Type.Integer({ minimum: 0, maximum: 59 }), {
      maxItems: 59,
      expected: 'a list of minutes, 0 to 59',
    }),
    default: [0, 30],
    about: 'Minutes of the hour no job is moved to.',
    reload: 'hot',
  }),
  'cron.log_jittered_times': setting({
    env: 'SVC_CRON_LOG_JITTERED_TIMES',
    type: Flag,
    default: true,
    about: 'Log when a job really fires.',
    reload: 'hot',
  }),
  cron_url: setting({
    env: 'SVC_CRON_URL',
    type: HttpUrl,
    default: '',
    about: 'External cron service; empty = the embedded scheduler.',
    reload: 'hot',
  }),
  cron_api_key: secret('SVC_CRON_API_KEY', 'Token for the external cron service.'),
  enable_callbacks: setting({
    env: 'SVC_ENABLE_CALLBACKS',
    type: Flag,
    default: true,
    about: 'Delayed callbacks.',
    reload: 'hot',
  }),
  'conclusion_watcher.enabled': setting({
    env: 'SVC_CONCLUSION_WATCHER_ENABLED',
    type: Flag,
    default: false,
    about: 'Watch for conclusions the agent did not check.',
    reload: 'hot',
    project: 'sets',
  }),
  'conclusion_watcher.intervention_mode': setting({
    env: 'SVC_CONCLUSION_WATCHER_INTERVENTION_MODE',
    type: Name,
    default: 'inject_validation_prompt',
    about: 'What is done about one.',
    reload: 'hot',
    project: 'sets',
  }),
  'conclusion_watcher.evaluator_enabled': setting({
    env: 'SVC_CONCLUSION_WATCHER_EVALUATOR_ENABLED',
    type: Flag,
    default: false,
    about: 'Let a model judge it.',
    reload: 'hot',
  }),
  'conclusion_watcher.evaluator_model': setting({
    env: 'SVC_CONCLUSION_WATCHER_EVALUATOR_MODEL',
    type: Name,
    default: 'gpt-4o-mini',
    about: 'That model.',
    reload: 'hot',
  }),
  'conclusion_watcher.evaluator_api_key': secret('SVC_CONCLUSION_WATCHER_EVALUATOR_API_KEY', 'Its key.'),
  mcp_servers: setting({
    env: 'SVC_MCP_SERVERS',
    type: Type.Array(McpServerSetting, {
      maxItems: 200,
      expected:
        'a JSON array (in a file: tables `[mcp_servers.<name>]`) of name, transport, command, args, url, headers',
    }),
    default: [],
    about: 'External tool servers. Variable and file are merged; the file wins on the same name.',
    reload: 'restart',
    secret: true,
  }),
  codehost_webhook_secret: secret('CODEHOST_WEBHOOK_SECRET', 'Enables the code-host webhook.'),
  chat_signing_secret: secret('CHAT_SIGNING_SECRET', 'Enables the chat webhook.'),
  tracker_webhook_secret: secret('TRACKER_WEBHOOK_SECRET', 'Enables the issue-tracker webhook.'),
} as const
