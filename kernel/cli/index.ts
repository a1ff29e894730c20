export type { ConfigEntry, ConfigView } from './config-view.js'
export { type DemoDaemon, type DemoOptions, runDemo } from './demo.js'
export type { Check } from './doctor/check.js'
export { type ProbeOptions, sandboxProblem } from './doctor/sandbox-problem.js'
export type {
  CliEnvironment,
  ConfigOptions,
  NewApiKey,
  PluginReport,
  ServeOptions,
} from './environment.js'
export { processTerminal } from './process-terminal.js'
export { runCli } from './run-cli.js'
