import { type Static, type TSchema, Type } from '@sinclair/typebox'
import { ImageBlock } from './message.js'
import { PermissionRule, Permissions } from './policy.js'

const text = (description: string) => Type.Optional(Type.String({ description }))
const texts = (description: string) => Type.Optional(Type.Array(Type.String(), { description, maxItems: 1000 }))
const list = <S extends TSchema>(items: S, maxItems: number, description: string) =>
  Type.Optional(Type.Array(items, { maxItems, description }))
/** Every key is a wish, and one that nobody knows is none to drop. */
const CLOSED = { additionalProperties: false } as const

/** Text that joins the model's context for one step after a tool of `trigger.tool_names` was used. */
export const DynamicRule = Type.Object(
  {
    id: Type.Optional(Type.String()),
    trigger: Type.Optional(Type.Object({ tool_names: Type.Optional(Type.Array(Type.String())) }, CLOSED)),
    content: Type.Optional(Type.String({ maxLength: 65536 })),
    fire_once: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)
export type DynamicRule = Readonly<Static<typeof DynamicRule>>

/** An external tool server for this run only; exactly one of `command` and `url`. */
export const McpServer = Type.Object({
  name: Type.String({ minLength: 1 }),
  command: Type.Optional(Type.String()),
  args: Type.Optional(Type.Array(Type.String())),
  url: Type.Optional(Type.String()),
})
export type McpServer = Readonly<Static<typeof McpServer>>

/** What a parent run hands its child, already bounded by the parent. */
export const ParentContextHandoff = Type.Object({
  parent_run_id: Type.String(),
  parent_tenant_id: Type.Optional(Type.String()),
  parent_conversation_id: Type.Optional(Type.String()),
  parent_agent_id: Type.Optional(Type.String()),
  messages: Type.Optional(
    Type.Array(
      Type.Object({
        index: Type.Integer(),
        role: Type.String(),
        name: Type.Optional(Type.String()),
        tool_call_id: Type.Optional(Type.String()),
        content: Type.String(),
      }),
      { maxItems: 1000 },
    ),
  ),
})

/**
 * Body of `POST /v1/runs`. An empty string means the same as an absent one. Unknown fields are ignored, but not inside
 * permissions, rules, prompt extensions and role models: those are refused.
 */
export const RunRequest = Type.Object(
  {
    prompt: Type.String({ minLength: 1, description: 'What the agent is asked to do.' }),
    attachments: list(ImageBlock, 100, 'Images for the first user message; refused when the model takes no images.'),
    plan_mode: Type.Optional(Type.Boolean({ description: 'Read-only planning until the plan is approved.' })),
    plan_file: text('The one file that planning may write; a path inside the workspace.'),
    model: text('Model id or alias; default: the server default.'),
    provider_name: text('Use this provider and no other routing rule.'),
    workspace_type: Type.Optional(
      Type.Union(
        ['', 'local', 'worktree', 'container', 'vm'].map(kind => Type.Literal(kind)),
        {
          description: 'Where the run works; empty: the server default.',
        },
      ),
    ),
    workspace_path: text('Absolute path of an existing directory that roots the run’s tools.'),
    extra_dirs: texts('Further roots, each an absolute path of an existing directory.'),
    allow_fallback: Type.Optional(
      Type.Boolean({ description: 'May another provider answer when the chosen one cannot?' }),
    ),
    fallback_providers: texts('Providers to fall back to, in order.'),
    system_prompt: text('Used verbatim instead of the composed prompt.'),
    tenant_id: text('Must equal the tenant of the key; default: that tenant.'),
    conversation_id: Type.Optional(
      Type.String({ maxLength: 256, description: 'Continue the history of this conversation; default: a new one.' }),
    ),
    agent_id: text('Label of the agent; default: `default`.'),
    agent_intent: text('Prompt overlay.'),
    task_context: text('Extra context for the system prompt.'),
    prompt_profile: text('Prompt-routing profile; not a capability profile.'),
    prompt_extensions: Type.Optional(
      Type.Object(
        {
          behaviors: texts('Ids.'),
          talents: texts('Ids.'),
          skills: texts('Names.'),
          custom: text('Free text.'),
        },
        CLOSED,
      ),
    ),
    max_steps: Type.Optional(Type.Integer({ minimum: 0, description: '0 = unlimited.' })),
    max_turns: Type.Optional(Type.Integer({ minimum: 0, description: '0 = unlimited.' })),
    max_cost_usd: Type.Optional(Type.Number({ minimum: 0, description: '0 = unlimited.' })),
    reasoning_effort: text('Passed to models that take it.'),
    allowed_tools: texts('When not empty, only these and the always-available tools are offered.'),
    denied_tools: texts('Never offered and never callable.'),
    mcp_servers: list(McpServer, 50, 'External tool servers for this run.'),
    dynamic_rules: list(DynamicRule, 50, 'Context that joins after certain tools.'),
    rules: list(PermissionRule, 1000, 'Appended after `permissions.rules`.'),
    profile: text('Capability profile.'),
    parent_context_handoff: Type.Optional(Type.Union([ParentContextHandoff, Type.Null()])),
    permissions: Type.Optional(Permissions),
    role_models: Type.Optional(Type.Object({ primary: text('Model id.'), summarizer: text('Model id.') }, CLOSED)),
  },
  { additionalProperties: true },
)
export type RunRequest = Readonly<Static<typeof RunRequest>>

/** A field of the request, as plugins name the ones they give effect to (`honours` of the manifest). */
export type RunRequestField = keyof RunRequest | `permissions.${keyof Permissions & string}`
