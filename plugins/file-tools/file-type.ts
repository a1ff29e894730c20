/** What the first bytes of a file say it is; undefined for text and the unknown. */
export function typeByContent(bytes: Uint8Array): string | undefined {
  const text = Buffer.from(bytes.subarray(0, 512)).toString('latin1')
  const found = SIGNATURES.find(([at, mark]) => text.startsWith(mark, at))
  return found?.[2]
}

/** What the name says it is. */
export const typeByName = (extension: string): string | undefined => TYPES[extension.toLowerCase()]

const SIGNATURES: readonly (readonly [at: number, mark: string, type: string])[] = [
  [0, '\x89PNG\r\n\x1a\n', 'image/png'],
  [0, '\xff\xd8\xff', 'image/jpeg'],
  [0, 'GIF8', 'image/gif'],
  [8, 'WEBP', 'image/webp'],
  [8, 'WAVE', 'audio/wav'],
  [0, 'BM', 'image/bmp'],
  [0, '\x00\x00\x01\x00', 'image/x-icon'],
  [0, '%PDF-', 'application/pdf'],
  [0, 'PK\x03\x04', 'application/zip'],
  [0, 'PK\x05\x06', 'application/zip'],
  [0, '\x1f\x8b', 'application/gzip'],
  [0, 'BZh', 'application/x-bzip2'],
  [0, '\xfd7zXZ\x00', 'application/x-xz'],
  [0, '\x28\xb5\x2f\xfd', 'application/zstd'],
  [0, "7z\xbc\xaf'\x1c", 'application/x-7z-compressed'],
  [257, 'ustar', 'application/x-tar'],
  [0, '\x7fELF', 'application/x-elf'],
  [0, 'MZ', 'application/vnd.microsoft.portable-executable'],
  [0, '\x00asm', 'application/wasm'],
  [0, 'SQLite format 3\x00', 'application/vnd.sqlite3'],
  [0, 'OggS', 'audio/ogg'],
  [0, 'ID3', 'audio/mpeg'],
  [0, 'fLaC', 'audio/flac'],
  [4, 'ftyp', 'video/mp4'],
  [0, '\x1aE\xdf\xa3', 'video/webm'],
  [0, 'wOF2', 'font/woff2'],
]

const TYPES: Readonly<Record<string, string>> = {
  c: 'text/x-c',
  css: 'text/css',
  csv: 'text/csv',
  go: 'text/x-go',
  htm: 'text/html',
  html: 'text/html',
  java: 'text/x-java',
  js: 'text/javascript',
  json: 'application/json',
  jsx: 'text/jsx',
  md: 'text/markdown',
  mjs: 'text/javascript',
  py: 'text/x-python',
  rb: 'text/x-ruby',
  rs: 'text/x-rust',
  sh: 'text/x-shellscript',
  sql: 'application/sql',
  svg: 'image/svg+xml',
  toml: 'application/toml',
  ts: 'text/typescript',
  tsx: 'text/tsx',
  txt: 'text/plain',
  xml: 'application/xml',
  yaml: 'application/yaml',
  yml: 'application/yaml',
}
