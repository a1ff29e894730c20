import type { FileRefusal } from '#contracts/workspace-files'
import { refuse } from './refusal.js'

const MAX_PATH_BYTES = 4096
const MAX_NAME_BYTES = 255
const MAX_COMPONENTS = 256

/** A path as written: its components without empty ones and `.`; `..` stays and is walked. */
export interface PathText {
  readonly isAbsolute: boolean
  readonly components: readonly string[]
  /** A trailing slash, `.` or `..`: only a folder can be meant. */
  readonly meansFolder: boolean
}

/** Takes a path text apart, or says why it cannot be one. Nothing is decoded: `%2e`, `~` and `\` are ordinary text. */
export function parsePath(text: string): PathText | FileRefusal {
  const bad = (message: string) => refuse('invalid_path', printable(text), message)
  if (text === '') return bad('The path is empty. Use "." for the workspace root.')
  if (Buffer.byteLength(text) > MAX_PATH_BYTES) return bad(`The path is longer than ${MAX_PATH_BYTES} bytes.`)
  if (/[\u0000-\u001f\u007f]/.test(text))
    return bad('The path holds a control character (NUL, newline, ...). Remove it.')
  if (/\p{Surrogate}/u.test(text)) return bad('The path is not valid Unicode.')
  const components = text.split('/').filter(part => part !== '' && part !== '.')
  if (components.length > MAX_COMPONENTS) return bad(`The path has more than ${MAX_COMPONENTS} parts.`)
  if (components.some(part => Buffer.byteLength(part) > MAX_NAME_BYTES))
    return bad(`A part of the path is longer than ${MAX_NAME_BYTES} bytes.`)
  return { isAbsolute: text.startsWith('/'), components, meansFolder: /(^|\/)(\.{1,2})?$/.test(text) }
}

/** A text that may be shown in a message, whatever it holds. */
const printable = (text: string): string =>
  text
    .replace(/[\u0000-\u001f\u007f]/g, '\ufffd')
    .replace(/\p{Surrogate}/gu, '\ufffd')
    .slice(0, 200)
