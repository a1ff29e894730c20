/** One thing `doctor` looked at. `advice` says what to do about a warning or failure. */
export interface Check {
  readonly name: string
  readonly state: 'ok' | 'warn' | 'fail'
  readonly says: string
  readonly advice?: string
}
