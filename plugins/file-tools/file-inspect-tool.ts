import { Type } from '@sinclair/typebox'
import { defineTool } from '#contracts/tool/tool'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import { PATH_ALIASES, PathParameter, renamed } from './arguments.js'
import { typeByContent, typeByName } from './file-type.js'
import { refused } from './tool-error.js'

const LOOKED_AT_BYTES = 64 * 1024
const MAX_LINE_CHARS = 500
const ROW_BYTES = 16

const parameters = Type.Object({
  path: PathParameter,
  preview_lines: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 100, default: 20, description: 'Lines to show of a text file.' }),
  ),
  hex_bytes: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 1024, default: 256, description: 'Bytes to show of any other file.' }),
  ),
})

/** `file_inspect`: what a file is, with a look at its beginning. */
export const createFileInspectTool = (files: WorkspaceFiles) =>
  defineTool({
    name: 'file_inspect',
    description:
      'Tell what a file is: size, type, encoding, and its first lines (text) or bytes in hex (anything else). Works on files of any size and kind.',
    parameters,
    action: 'read',
    tags: ['file', 'binary', 'metadata'],
    normalise: args => renamed(args, PATH_ALIASES),
    subject: ({ path }) => ({ paths: [path] }),
    async execute({ path, preview_lines = 20, hex_bytes = 256 }, context) {
      const file = await files.open(await context.sandboxPolicy(), path)
      if (file.kind === 'refused') return refused(file)
      try {
        const bytes = await file.read(0, LOOKED_AT_BYTES)
        const encoding = encodingOf(bytes, bytes.length < file.sizeBytes)
        const extension = extensionOf(file.path)
        const plain = encoding === 'binary' ? 'application/octet-stream' : 'text/plain'
        return {
          output: {
            path: file.path,
            size_bytes: file.sizeBytes,
            size_human: humanSize(file.sizeBytes),
            mime_type: typeByContent(bytes) ?? (encoding === 'binary' ? undefined : typeByName(extension)) ?? plain,
            encoding,
            extension,
            ...(encoding === 'binary'
              ? { hex_preview: hexRows(bytes.subarray(0, hex_bytes)) }
              : previewOf(decode(bytes, encoding), preview_lines, bytes.length < file.sizeBytes)),
          },
        }
      } finally {
        file.close()
      }
    },
  })

type Encoding = 'empty' | 'ascii' | 'utf-8' | 'utf-8-bom' | 'utf-16le' | 'utf-16be' | 'binary'

function encodingOf(bytes: Uint8Array, isCut: boolean): Encoding {
  if (bytes.length === 0) return 'empty'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'utf-16be'
  if (bytes.includes(0)) return 'binary'
  try {
    // Where more follows, the last character may be cut in two; that alone does not make it binary.
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: isCut })
  } catch {
    return 'binary'
  }
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8-bom'
  return bytes.every(byte => byte < 0x80) ? 'ascii' : 'utf-8'
}

const decode = (bytes: Uint8Array, encoding: Encoding): string =>
  new TextDecoder(encoding.startsWith('utf-16') ? encoding : 'utf-8').decode(bytes, { stream: true })

function previewOf(text: string, most: number, hasMore: boolean) {
  const lines = text.split(/\r\n|\n|\r/)
  if (lines.at(-1) === '') lines.pop()
  const shown = lines.slice(0, most)
  const cut = shown.map(line => (line.length > MAX_LINE_CHARS ? `${line.slice(0, MAX_LINE_CHARS)}…` : line))
  return {
    preview: cut.join('\n'),
    preview_lines: cut.length,
    ...(hasMore ? {} : { line_count: lines.length }),
    truncated: hasMore || lines.length > most,
  }
}

/** Offset, bytes, and the same as characters. */
function hexRows(bytes: Uint8Array): string {
  const rows: string[] = []
  for (let at = 0; at < bytes.length; at += ROW_BYTES) {
    const row = [...bytes.subarray(at, at + ROW_BYTES)]
    const hex = row.map(byte => byte.toString(16).padStart(2, '0')).join(' ')
    const text = row.map(byte => (byte >= 0x20 && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('')
    rows.push(`${at.toString(16).padStart(8, '0')}  ${hex.padEnd(ROW_BYTES * 3 - 1)}  ${text}`)
  }
  return rows.join('\n')
}

const UNITS = ['KB', 'MB', 'GB', 'TB'] as const

function humanSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`
  let size = bytes / 1024
  let unit = 0
  for (; size >= 1024 && unit < UNITS.length - 1; unit++) size /= 1024
  return `${size.toFixed(1)} ${UNITS[unit]}`
}

function extensionOf(path: string): string {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const dot = name.lastIndexOf('.')
  return dot > 0 ? name.slice(dot + 1) : ''
}
