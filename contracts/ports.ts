import type { Approvals, PermissionRules } from './approval.js'
import type { Checkpoints } from './checkpoint.js'
import type { Events } from './event/events.js'
import type { ModelWire, ProviderCatalog } from './model/provider.js'
import type { Providers } from './model/providers.js'
import type { Notices } from './notices.js'
import { gathering, port } from './plugin.js'
import type { Profiles } from './profiles.js'
import type { RunCeilings } from './run/ceilings.js'
import type { Runs } from './run/runs.js'
import type { Sandbox } from './sandbox.js'
import type { ConfigReload, Secrets } from './settings.js'
import type { Skills } from './skills.js'
import type { KeyStore } from './store/key-store.js'
import type { MessageStore } from './store/message-store.js'
import type { Records } from './store/records.js'
import type { RunStore } from './store/run-store.js'
import type { TaskSource } from './tasks.js'
import type { ToolCatalog } from './tool/tool.js'
import type { Web } from './web.js'
import type { WorkspaceFiles } from './workspace-files.js'

/** Runs, logs, journals, mailboxes. Default: in memory. */
export const RUN_STORE = port<RunStore>('run-store')
/** Message histories. Default: in memory. */
export const MESSAGE_STORE = port<MessageStore>('message-store')
/** API keys. No default: without one, auth is off. */
export const KEY_STORE = port<KeyStore>('key-store')
/** Typed records for plugins. Default: in memory. */
export const RECORDS = port<Records>('records')
/** Confinement of commands. No default: without one, tools that run commands are refused. */
export const SANDBOX = port<Sandbox>('sandbox')
/** Files beneath a run's roots. No default: without one there are no file tools. */
export const WORKSPACE_FILES = port<WorkspaceFiles>('workspace-files')

/** Guarded requests to addresses that others chose. No default: without one there are no web tools. */
export const WEB = port<Web>('web')

/** Starting and steering runs. Provided by the kernel. */
export const RUNS = port<Runs>('runs')
/** Reading event logs. Provided by the kernel. */
export const EVENTS = port<Events>('events')
/** Durable pauses. Provided by `plugins/checkpoints`; without it pauses still work, unseen. */
export const CHECKPOINTS = port<Checkpoints>('checkpoints')
/** Asking a person. Provided by `plugins/approvals`. */
export const APPROVALS = port<Approvals>('approvals')
/** Telling the next run of a conversation. Provided by `plugins/runtime-context`; without it nothing is told. */
export const NOTICES = port<Notices>('notices')
/** Capability profiles. No default: without one only the built-in names are known, and none has an effect. */
export const PROFILES = port<Profiles>('profiles')
/** Skills as text. No default: without one nothing resolves them. */
export const SKILLS = port<Skills>('skills')
/** Who may direct which run. Provided by `plugins/ceilings`; without it everybody with the scope may. */
export const CEILINGS = port<RunCeilings>('ceilings')
/** What the rules of a run say about a call. Provided by `plugins/permission-rules`. */
export const PERMISSION_RULES = port<PermissionRules>('permission-rules')
/** The tools of the current epoch. Provided by the kernel. */
export const TOOLS = port<ToolCatalog>('tools')
/** Reloading the configuration. Provided by the daemon's entry; absent when embedded without files. */
export const CONFIG_RELOAD = port<ConfigReload>('config-reload')
/** Environment variables that are data. Provided by the daemon's entry. */
export const SECRETS = port<Secrets>('secrets')

/** Providers and models. Provided by `plugins/providers`; without it only a wire's own client answers. */
export const PROVIDERS = port<Providers>('providers')
/** Ways to talk to providers. */
export const MODEL_WIRES = gathering<ModelWire>('model-wires')
/** Providers as data. */
export const PROVIDER_ENTRIES = gathering<ProviderCatalog>('provider-entries')
/** Background work. Shown by `plugins/tasks`. */
export const TASK_SOURCES = gathering<TaskSource>('task-sources')
