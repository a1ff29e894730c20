const MAX_PROMPT_BYTES = 1024 * 1024

/** All of stdin as text, without the line end of the last line; undefined when it is too large to send. */
export async function readPrompt(stdin: NodeJS.ReadableStream): Promise<string | undefined> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of stdin) {
    const buffer = Buffer.from(chunk)
    bytes += buffer.byteLength
    if (bytes > MAX_PROMPT_BYTES) return undefined
    chunks.push(buffer)
  }
  return Buffer.concat(chunks)
    .toString('utf8')
    .replace(/\r?\n$/, '')
}
