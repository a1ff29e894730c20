import { connect } from 'node:net'

export interface RawReply {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends exactly these bytes and reads until the server hangs up or, with a length, until the reply is whole. */
export function sendRaw(port: number, bytes: string | Buffer, host = '127.0.0.1'): Promise<RawReply> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host }, () => socket.write(bytes))
    let text = ''
    const finish = () => {
      socket.destroy()
      resolve(parseReply(text))
    }
    socket.on('data', chunk => {
      text += chunk.toString('latin1')
      if (isWhole(text)) finish()
    })
    socket.on('end', finish)
    socket.on('error', error => (text === '' ? reject(error) : finish()))
  })
}

/** A request with the usual headers; `lines` add to or stand in for them. */
export const requestText = (method: string, target: string, lines: readonly string[] = [], body = ''): string =>
  `${[`${method} ${target} HTTP/1.1`, ...lines].join('\r\n')}\r\n${body === '' ? '' : `content-length: ${Buffer.byteLength(body)}\r\n`}\r\n${body}`

function isWhole(text: string): boolean {
  const split = text.indexOf('\r\n\r\n')
  if (split === -1) return false
  if (/^HTTP\/1\.1 (?:204|304)/.test(text)) return true
  const [, length] = /content-length: (\d+)/i.exec(text.slice(0, split)) ?? []
  return length !== undefined && text.length - split - 4 >= Number(length)
}

function parseReply(text: string): RawReply {
  const split = text.indexOf('\r\n\r\n')
  const [first = '', ...lines] = text.slice(0, split).split('\r\n')
  const headers = Object.fromEntries(
    lines.map(line => {
      const colon = line.indexOf(':')
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()]
    }),
  )
  return { status: Number(first.split(' ')[1] ?? 0), headers, body: text.slice(split + 4) }
}
