import { spawn } from 'node:child_process'
import { constants } from 'node:os'

/** Ends the launcher with a message and an exit code; not a fault of its own. */
export class Stop extends Error {
  constructor(message, code = 1) {
    super(message)
    this.code = code
  }
}

/** What the launcher is doing goes to standard error: standard output belongs to the command. */
export const say = text => process.stderr.write(`runwright: ${text}\n`)

const SECRET_NAME =
  /(?:^|_)(?:API_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|PASSPHRASE|PAT|CREDENTIALS?|DSN|DATABASE_URL|CONNECTION_STRING|MCP_SERVERS)(?:_ID|_FILE)?$/i
const FOR_NPM = /^(npm_|node_auth_)/i

/**
 * The environment without its secrets (the same names as in `config/secrets.ts`): compilers and install scripts of packages
 * have no business with them. What npm needs for a private registry stays.
 */
export const cleanEnvironment = (variables = process.env) =>
  Object.fromEntries(Object.entries(variables).filter(([name]) => !SECRET_NAME.test(name) || FOR_NPM.test(name)))

/**
 * Runs a program on this terminal until it ends. Signals are passed on, and the launcher waits for the program to act on
 * them. What set-up programs print goes to standard error. Stops with the program's own exit code when that is not 0.
 */
export async function spawnThrough([file, ...args], { cwd, env = {}, title, isSetUp = false } = {}) {
  if (title !== undefined) say(title)
  const child = spawn(file, args, {
    cwd,
    env: { ...cleanEnvironment(), ...env },
    stdio: ['inherit', isSetUp ? 2 : 1, 2],
  })
  const forward = signal => {
    // Ctrl-C on a terminal reaches the program by itself, and a second one would tell it to give up at once.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal)
  }
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  for (const signal of signals) process.on(signal, forward)
  try {
    const [code, signal] = await new Promise((done, failed) => {
      child.once('error', failed)
      child.once('exit', (...ending) => done(ending))
    })
    if (signal !== null) throw new Stop(`${title ?? file} was ended by ${signal}`, 128 + constants.signals[signal])
    if (code !== 0) throw new Stop('', code)
  } catch (error) {
    if (error instanceof Stop) throw error
    throw new Stop(`${file} could not be started: ${error.message}`, 127)
  } finally {
    for (const signal of signals) process.off(signal, forward)
  }
}
