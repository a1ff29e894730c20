import type { ToolResult } from 'runwright/contracts'

const DAY_MS = 24 * 60 * 60 * 1000
/** A model that asks for ten thousand years made a mistake; the loop below is not the place to find out. */
const MAX_DAYS = 366 * 100

/** The number of days from `from` to `to`, both included, without weekends and holidays. */
export function countWorkingDays(from: string, to: string, holidays: ReadonlySet<string>): ToolResult {
  const first = parseDay(from)
  const last = parseDay(to)
  if (first === undefined) return { error: `"${from}" is not a date of the form YYYY-MM-DD` }
  if (last === undefined) return { error: `"${to}" is not a date of the form YYYY-MM-DD` }
  if (last < first) return { error: 'the last day lies before the first; swap them' }
  if ((last - first) / DAY_MS >= MAX_DAYS) return { error: 'the dates are more than a hundred years apart' }
  let days = 0
  for (let day = first; day <= last; day += DAY_MS) {
    const weekday = new Date(day).getUTCDay()
    if (weekday !== 0 && weekday !== 6 && !holidays.has(new Date(day).toISOString().slice(0, 10))) days += 1
  }
  return { output: { working_days: days } }
}

/** Midnight UTC; undefined for anything that is no day of the calendar, such as 2026-02-30. */
function parseDay(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return undefined
  const time = Date.parse(`${text}T00:00:00Z`)
  return Number.isNaN(time) || new Date(time).toISOString().slice(0, 10) !== text ? undefined : time
}
