/** Colours of the terminal; every function returns its text unchanged when colours are off. */
export interface Paint {
  dim(text: string): string
  bold(text: string): string
  red(text: string): string
  green(text: string): string
  yellow(text: string): string
  cyan(text: string): string
}

export function createPaint(isOn: boolean): Paint {
  const wrap = (open: number, close: number) => (text: string) =>
    isOn && text !== '' ? `\u001b[${open}m${text}\u001b[${close}m` : text
  return {
    dim: wrap(2, 22),
    bold: wrap(1, 22),
    red: wrap(31, 39),
    green: wrap(32, 39),
    yellow: wrap(33, 39),
    cyan: wrap(36, 39),
  }
}
