import { createRequire } from 'node:module'
import type { Logger } from 'pino'
import type { PluginLog } from '#contracts/plugin'
import { maskUrl } from './mask-url.js'

const LEVELS = ['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent']

/** The logger of a process. */
export interface Log extends PluginLog {
  /** Lines below it are left out; may be changed at any time. */
  level: string
}

/**
 * JSON lines on stderr; stdout stays for programs. Whatever a line holds, keys and `?token=` values are masked in it and
 * an Authorization header is left out. The logging library is loaded with the first line that is written; an unknown
 * level means `info`.
 */
export function createLog(level: string, write?: (line: string) => void): Log {
  let threshold = known(level)
  let logger: Logger | undefined
  const at = (name: keyof PluginLog) => (facts: object, message: string) => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(threshold)) return
    logger ??= build(write)
    logger[name](facts, message)
  }
  return {
    get level() {
      return threshold
    },
    set level(next) {
      threshold = known(next)
    },
    debug: at('debug'),
    info: at('info'),
    warn: at('warn'),
    error: at('error'),
  }
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
