import { access, constants, stat } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { messageOf } from '#contracts/errors'
import { explain } from '../complain.js'
import type { ConfigView } from '../config-view.js'
import type { CliEnvironment, ConfigOptions } from '../environment.js'
import { type ConnectionOptions, connect } from '../options.js'
import { createPaint, type Paint } from '../render/paint.js'
import { plainLine } from '../render/plain-text.js'
import type { Check } from './check.js'
import { modelCheck } from './model-check.js'

const NODE_FLOOR = [20, 19] as const

export interface ExamineOptions extends ConfigOptions, ConnectionOptions {
  readonly json?: boolean
  /** False: the default model is not asked. */
  readonly ask?: boolean
}

/** Looks at everything a daemon needs; prints a line each. 1 when something fails, else 0. */
export async function examine(environment: CliEnvironment, options: ExamineOptions): Promise<number> {
  const checks: Check[] = [nodeCheck(environment.nodeVersion)]
  const config = await environment.loadConfig(options).catch((error: unknown) => {
    checks.push({
      name: 'config',
      state: 'fail',
      says: messageOf(error),
      advice: 'the daemon does not start like this',
    })
    return undefined
  })
  if (config) {
    checks.push(...configChecks(config))
    checks.push(await databaseCheck(environment, config))
    checks.push(...((await environment.doctorChecks?.(config)) ?? []))
  }
  checks.push(await daemonCheck(environment, options))
  if (options.ask !== false) checks.push(await modelCheck(environment, options))
  const isFailing = checks.some(check => check.state === 'fail')
  environment.stdout.write(
    options.json
      ? `${JSON.stringify({ ok: !isFailing, checks }, undefined, 2)}\n`
      : checks.map(check => line(check, createPaint(environment.isTty.stdout && !environment.isColourOff))).join(''),
  )
  return isFailing ? 1 : 0
}

function line({ name, state, says, advice }: Check, paint: Paint): string {
  const mark = { ok: paint.green('ok  '), warn: paint.yellow('warn'), fail: paint.red('fail') }[state]
  return `${mark}  ${name.padEnd(10)}  ${plainLine(says)}\n${advice === undefined ? '' : `${' '.repeat(18)}${plainLine(advice)}\n`}`
}

function nodeCheck(version: string): Check {
  const [major = 0, minor = 0] = version.replace(/^v/, '').split('.').map(Number)
  const isEnough = major > NODE_FLOOR[0] || (major === NODE_FLOOR[0] && minor >= NODE_FLOOR[1])
  const says = `Node.js ${version}`
  return isEnough
    ? { name: 'node', state: 'ok', says }
    : { name: 'node', state: 'fail', says, advice: `install Node.js ${NODE_FLOOR.join('.')} or newer` }
}

function configChecks({ problems }: ConfigView): readonly Check[] {
  if (problems.length === 0) return [{ name: 'config', state: 'ok', says: 'every setting was understood' }]
  return problems.map(says => ({
    name: 'config',
    state: 'warn',
    says,
    advice: 'correct it; "runwright config show" tells what is in force instead',
  }))
}

/** Opens an existing database; a new one is not made here, only its directory looked at. */
async function databaseCheck(environment: CliEnvironment, config: ConfigView): Promise<Check> {
  const name = 'database'
  if (!config.runDb)
    return {
      name,
      state: 'warn',
      says: 'none is set here: a daemon started from this shell forgets its runs, and asks for no key',
      advice: 'set SVC_RUN_DB=<file> to keep runs and to make keys',
    }
  const file = resolve(environment.cwd, config.runDb)
  try {
    if (!(await stat(file).catch(() => undefined))) {
      await access(dirname(file), constants.W_OK)
      return { name, state: 'ok', says: `${file} will be made on the first start` }
    }
    const store = await environment.openKeyStore(file, { mustExist: true })
    try {
      const active = (await store.list()).filter(key => key.revoked_at === undefined).length
      const says = `${file} opens; ${active} active ${active === 1 ? 'key' : 'keys'}`
      if (active > 0) return { name, state: 'ok', says }
      const advice = 'runwright keys create --tenant default --scope runs:write'
      return { name, state: 'warn', says: `${says}, so every request is refused unless auth is disabled`, advice }
    } finally {
      await store.close()
    }
  } catch (error) {
    return { name, state: 'fail', says: messageOf(error), advice: 'check SVC_RUN_DB and who may write there' }
  }
}

async function daemonCheck(environment: CliEnvironment, options: ConnectionOptions): Promise<Check> {
  const name = 'daemon'
  const api = connect(environment, options)
  const reply = await api.request('GET', '/healthz')
  if (reply.kind === 'answered') {
    // Health needs no key; a key that was given must be one.
    const asked = await api.request('GET', '/v1/plugins')
    if (asked.kind === 'answered' || asked.kind === 'unreachable' || asked.status !== 401)
      return { name, state: 'ok', says: `answers at ${api.baseUrl}` }
    const [says, advice = ''] = explain(asked)
    return { name, state: 'fail', says: `answers at ${api.baseUrl}, but not to us: ${says}`, advice }
  }
  if (reply.kind === 'unreachable')
    return {
      name,
      state: 'warn',
      says: `nothing answers at ${api.baseUrl} (${reply.because})`,
      advice: 'start it with "npm start" or "runwright serve"',
    }
  const says = `${api.baseUrl} answers ${reply.status} ${reply.code}: ${reply.message}`
  return { name, state: 'fail', says, advice: 'is this the daemon? check --base-url or SVC_URL' }
}
