import { createRequire } from 'node:module'
import type { Logger } from 'pino'
import type { PluginLog } from '#contracts/plugin'
import { maskUrl } from './mask-url.js'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** A logger of one process. `child` adds facts to every line. */
export interface Log extends PluginLog {
  /** Lines below it are left out; may be changed at any time. */
  level: string
  child(facts: Readonly<Record<string, unknown>>): Log
}

/**
 * JSON lines on stderr; stdout stays for programs. Whatever a line holds, keys and `?token=` values are masked in it and
 * an Authorization header is left out. The logging library is loaded with the first line that is written; an unknown
 * level means `info`.
 */
export function createLog(level: string, write?: (line: string) => void): Log {
  let threshold = known(level)
  let built: Logger | undefined
  const writer = () => {
    built ??= build(write)
    return built
  }
  const at = (name: 'debug' | 'info' | 'warn' | 'error', facts: object, target: () => Logger, message: string) => {
    if (LEVELS.indexOf(name) >= LEVELS.indexOf(threshold)) target()[name](facts, message)
  }
  const logOf = (target: () => Logger): Log => ({
    get level() {
      return threshold
    },
    set level(next) {
      threshold = known(next)
    },
    debug: (facts, message) => at('debug', facts, target, message),
    info: (facts, message) => at('info', facts, target, message),
    warn: (facts, message) => at('warn', facts, target, message),
    error: (facts, message) => at('error', facts, target, message),
    child: facts => {
      let child: Logger | undefined
      return logOf(() => {
        child ??= target().child(facts)
        return child
      })
    },
  })
  return logOf(writer)
}

const known = (level: string): string => (LEVELS.includes(level) ? level : 'info')

/** What is left out is decided before a line comes here. */
function build(write?: (line: string) => void): Logger {
  const { pino } = createRequire(import.meta.url)('pino') as typeof import('pino')
  return pino(
    {
      level: 'trace',
      base: null,
      timestamp: () => `,"time":"${new Date().toISOString()}"`,
      formatters: { level: label => ({ level: label }) },
      redact: { paths: ['authorization', '*.authorization', '*.*.authorization'], remove: true },
      hooks: { streamWrite: maskUrl },
    },
    write === undefined ? pino.destination({ fd: 2, sync: true }) : { write },
  )
}
