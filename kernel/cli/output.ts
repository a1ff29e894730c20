import { once } from 'node:events'

/** Where text goes, at the speed its reader takes it. */
export interface Output {
  /** Waits while the reader is behind; false when it is gone (`| head`). */
  write(text: string): Promise<boolean>
  /** Stops listening to the stream. */
  release(): void
}

export function createOutput(stream: NodeJS.WritableStream): Output {
  let isGone = false
  const onError = () => {
    isGone = true
  }
  stream.on('error', onError)
  return {
    async write(text) {
      if (text === '' || isGone) return !isGone
      if (!stream.write(text)) await Promise.race([once(stream, 'drain'), once(stream, 'close')]).catch(onError)
      return !isGone
    },
    release: () => stream.off('error', onError),
  }
}
