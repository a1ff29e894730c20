/** The promises of the storage ports, as tests any implementation is run against. `runwright/testing` re-exports them. */
export { describeKeyStore } from './storage/key-store-contract.js'
export { describeMessageStore } from './storage/message-store-contract.js'
export { describeRecords } from './storage/records-contract.js'
export { describeRunStore } from './storage/run-store-contract.js'
export { aRun, eventsOf, type OpenStore, type StoreOpener } from './storage/samples.js'
