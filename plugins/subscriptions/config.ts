import { type Static, Type } from '@sinclair/typebox'

const tokenUrl = (standard: string, whose: string) =>
  Type.String({
    default: standard,
    minLength: 1,
    maxLength: 2048,
    pattern: '^https?://[^\\s@]+$',
    description: `Where sessions of ${whose} are renewed.`,
  })

/** Settings of the plugin, as `[plugins.subscriptions]` takes them. */
export const SubscriptionsConfig = Type.Object({
  directory: Type.String({
    default: '',
    setting: 'global_dir',
    description: 'The private copies are kept in `subscription-auth` beneath it.',
  }),
  home: Type.String({
    default: '',
    env: 'HOME',
    description: 'Home directory in which the vendors’ programs keep their sessions; empty: the daemon user’s.',
  }),
  codex_home: Type.String({
    default: '',
    env: 'CODEX_HOME',
    description: 'Directory of the codex program; empty: `.codex` in the home directory.',
  }),
  codex_token_url: tokenUrl('https://auth.openai.com/oauth/token', 'codex'),
  kimi_token_url: tokenUrl('https://auth.kimi.com/api/oauth/token', 'kimi'),
  kimi_headers: Type.Record(
    Type.String({ pattern: '^[A-Za-z0-9-]{1,64}$' }),
    Type.String({ pattern: '^[ -~]{0,256}$' }),
    {
      default: {},
      description: 'Headers that identify the client to kimi, over those that are sent anyway.',
    },
  ),
})
export type SubscriptionsConfig = Readonly<Static<typeof SubscriptionsConfig>>
