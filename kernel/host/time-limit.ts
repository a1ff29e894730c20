import { Failure } from '#contracts/errors'

/** Settles like `work`, or fails with `timeout` once the limit has passed. What `work` does afterwards is ignored. */
export async function withLimit<T>(work: Promise<T>, limitMs: number, what: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const expired = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Failure('timeout', `${what} took longer than ${limitMs} ms`)), limitMs)
  })
  try {
    return await Promise.race([work, expired])
  } finally {
    clearTimeout(timer)
  }
}
