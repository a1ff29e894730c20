/** Prefixes of model ids that are other names of providers. */
const PREFIXES: ReadonlyMap<string, string> = new Map([
  ['x-ai', 'xai'],
  ['meta-llama', 'groq'],
  ['moonshotai', 'kimi'],
  ['google', 'gemini'],
])

/** `prefix/rest` without the prefix when that means the provider; undefined for any other id. */
export function withoutPrefix(provider: string, model: string): string | undefined {
  const slash = model.indexOf('/')
  if (slash <= 0 || slash === model.length - 1) return undefined
  const prefix = model.slice(0, slash)
  return prefix === provider || PREFIXES.get(prefix) === provider ? model.slice(slash + 1) : undefined
}
