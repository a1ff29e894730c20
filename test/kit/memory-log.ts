import type { PluginLog } from '#contracts/plugin'

/** A log that keeps what it is told, as facts with their level and message. */
export function memoryLog(logged: Record<string, unknown>[]): PluginLog {
  const at = (level: string) => (facts: object, message: string) => void logged.push({ level, ...facts, message })
  return { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
}
