/** The suites every wire passes, for wires of your own: `runwright/testing/model`. Import them in a vitest test file. */
export type { ScriptedTurn, ScriptedUsage, ScriptedWire, UsageForm } from './chat-wire.js'
export { describeModelClient, type ModelSubject } from './model-contract.js'
export { type ModelCall, type ModelServer, type Respond, startModelServer } from './model-server.js'
export { describeModelWire, type WireSubject } from './wire-contract.js'
