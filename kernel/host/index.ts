/** The plugin host: folders become generations, generations become epochs. `host.ts` is the one to read first. */
export * from './composed-app.js'
export { Epoch } from './epoch.js'
export { PluginHost } from './host.js'
export type { HostOptions, PluginSource } from './host-options.js'
export type { PluginAdditions, PluginReport, RefusedPlugin, SyncReport } from './report.js'
export { type WatchOptions, watchPlugins } from './watch.js'
