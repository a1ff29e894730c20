import type { FileContent } from '#contracts/workspace-files'
import { failure, type ToolFailure } from './tool-error.js'

/** The most that write, edit and apply_patch take as one file. */
export const MAX_EDITED_BYTES = 10 * 1024 * 1024

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The text of a file that is to be changed. Refused when changing it as text would damage it. */
export function textOf(file: FileContent): string | ToolFailure {
  try {
    const text = strict.decode(file.bytes)
    if (!text.includes('\0')) return text
  } catch {
    // Told below.
  }
  return failure(
    'not_text',
    `${file.path} is not UTF-8 text; changing it as text would damage it. Use a command in bash.`,
    {
      path: file.path,
    },
  )
}

/** True when every line ends in CRLF. */
export function hasOnlyCrlf(text: string): boolean {
  return text.includes('\r\n') && !/(^|[^\r])\n/.test(text)
}

/** The text with the line ends of a CRLF file, for callers that only think in LF. */
export const withCrlf = (text: string): string => (text.includes('\r\n') ? text : text.replaceAll('\n', '\r\n'))

/** 1-based number of the line that holds a position. */
export function lineNumberAt(text: string, position: number): number {
  let line = 1
  for (let at = text.indexOf('\n'); at !== -1 && at < position; at = text.indexOf('\n', at + 1)) line++
  return line
}
