/** A commit as tools show it. */
export interface Commit {
  readonly hash: string
  readonly author: string
  readonly email: string
  readonly date: string
  readonly subject: string
  readonly diff?: string
}

/** Starts each commit; no field can hold it, since git ends its own texts at a NUL. */
const START = '\x01commit\x01'
export const COMMIT_FORMAT = '--format=%x01commit%x01%x00%H%x00%aN%x00%aE%x00%aI%x00%s%x00'

/** Reads `git log` in that format; what follows a commit's fields is its diff. A commit cut off in the middle is left out. */
export function parseCommits(output: string): readonly Commit[] {
  return output.split(`${START}\0`).flatMap((part): readonly Commit[] => {
    const [hash = '', author, email, date, subject, ...rest] = part.split('\0')
    if (!/^[0-9a-f]{40,64}$/.test(hash) || subject === undefined || rest.length === 0) return []
    const diff = rest.join('\0').replace(/^\n+/, '')
    return [
      {
        hash,
        author: cut(author),
        email: cut(email),
        date: cut(date),
        subject: cut(subject),
        ...(diff.trim() !== '' && { diff: diff.trimEnd() }),
      },
    ]
  })
}

const cut = (text = ''): string => (text.length > 500 ? `${text.slice(0, 500)}…` : text)
