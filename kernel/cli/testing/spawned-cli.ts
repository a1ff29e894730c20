import { processTerminal } from '../process-terminal.js'
import { runCli } from '../run-cli.js'

/** The command line as a process of its own, for tests that send it signals: `node spawned-cli.js <base url> <args...>`. */
const [baseUrl = '', ...argv] = process.argv.slice(2)
const nothing = () => Promise.reject(new Error('not part of this test'))

process.exitCode = await runCli(argv, {
  ...processTerminal({ baseUrl, isColourOff: true }),
  version: '0.0.0',
  nodeVersion: process.version,
  now: () => new Date(),
  serve: nothing,
  loadConfig: nothing,
  openKeyStore: nothing,
  checkPlugin: nothing,
  createApiKey: () => ({ text: '', prefix: '', digest: '' }),
})
