/** What a plugin author needs to prove a plugin: `runwright/testing`. */
export { type CheckPluginOptions, checkPlugin, type PluginCheck } from './check-plugin.js'
export { composeTestApp, type TestApp } from './compose-app.js'
export { type DescribePluginOptions, describePlugin, type SuiteRunner } from './describe-plugin.js'
export { type FakeRun, fakeRun } from './fake-run.js'
export { handlesLeftBy } from './handles.js'
export { type GrantedPorts, type OpenPlugin, type OpenPluginOptions, openPlugin } from './open-plugin.js'
export { type PluginCase, type PluginCaseOptions, pluginCases } from './plugin-cases.js'
export { standInPorts } from './stand-in-ports.js'
