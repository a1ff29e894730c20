/**
 * What a starting daemon uses of the configuration. What only people look at (`describe.js`, `deployment.js`) is imported
 * where it is shown, so that a start does not pay for it.
 */
export type { Source } from './layer.js'
export { type ApplyConfig, type LiveConfig, openLiveConfig } from './live.js'
export { type LoadedConfig, type LoadOptions, loadConfig } from './load.js'
export { configurePlugin, type PluginConfig, strayPlugins } from './plugin-config.js'
export type { PluginSection } from './plugin-section.js'
export { describeProblem, type Problem } from './problem.js'
export { afterReload, diffSettings } from './reload.js'
export { SETTINGS, type SettingKey, type Settings } from './schema.js'
export { createSecrets, type Environment, isSecretName, takeEnvironment } from './secrets.js'
