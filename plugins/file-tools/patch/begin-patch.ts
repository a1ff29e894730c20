import { type FileChange, fault, type Hunk, type HunkLine, type PatchFault } from './file-change.js'

const BEGIN = '*** Begin Patch'
const END = '*** End Patch'
const END_OF_FILE = '*** End of File'
const HEADER = /^\*\*\* (Add|Update|Delete) File: (.+)$/

export const isBeginPatch = (text: string): boolean => text.trimStart().startsWith(BEGIN)

/** Reads the `*** Begin Patch` style. */
export function parseBeginPatch(text: string): readonly FileChange[] | PatchFault {
  const lines = text.trim().replaceAll('\r\n', '\n').split('\n')
  // A line of a file that says the same has a blank, "+" or "-" before it.
  const end = lines.findIndex(line => line.trimEnd() === END)
  if (end === -1) return fault(`The patch does not end with "${END}". Send the whole patch.`)
  if (lines.slice(end + 1).some(line => line.trimEnd() === BEGIN))
    return fault(`A second "${BEGIN}" follows after "${END}". Put all files into one patch.`)
  const changes: FileChange[] = []
  let at = 1
  while (at < end) {
    const line = lines[at] ?? ''
    if (line.trim() === '') {
      at++
      continue
    }
    const [, verb, name = ''] = HEADER.exec(line.trimEnd()) ?? []
    if (verb === undefined)
      return fault(
        `Line ${at + 1} of the patch should be "*** Add File: ", "*** Update File: " or "*** Delete File: ", not ${JSON.stringify(line.slice(0, 80))}.`,
      )
    const next = nextHeader(lines, at + 1, end)
    const change = parseFile(verb, name.trim(), lines.slice(at + 1, next), at + 2)
    if (change.kind === 'fault') return change
    changes.push(change)
    at = next
  }
  return changes.length > 0 ? changes : fault('The patch names no file.')
}

function nextHeader(lines: readonly string[], from: number, end: number): number {
  for (let at = from; at < end; at++) if (HEADER.test(lines[at] ?? '')) return at
  return end
}

function parseFile(verb: string, path: string, body: readonly string[], firstLine: number): FileChange | PatchFault {
  if (verb === 'Delete') return { kind: 'delete', path, hunks: [] }
  if (verb === 'Add') {
    const bad = body.findIndex((line, index) => !line.startsWith('+') && !(line === '' && index === body.length - 1))
    if (bad !== -1) return fault(`Line ${firstLine + bad} of the patch: every line of an added file starts with "+".`)
    const content = body.filter(line => line.startsWith('+')).map(line => `${line.slice(1)}\n`)
    return { kind: 'add', path, content: content.join('') }
  }
  const [, moveTo] = /^\*\*\* Move to: (.+)$/.exec(body[0]?.trimEnd() ?? '') ?? []
  const hunks = parseHunks(
    moveTo === undefined ? body : body.slice(1),
    moveTo === undefined ? firstLine : firstLine + 1,
  )
  if ('kind' in hunks) return hunks
  if (hunks.length === 0 && moveTo === undefined) return fault(`The patch changes nothing in ${path}.`)
  return { kind: 'update', path, hunks, ...(moveTo !== undefined && { moveTo: moveTo.trim() }) }
}

function parseHunks(body: readonly string[], firstLine: number): readonly Hunk[] | PatchFault {
  const hunks: Hunk[] = []
  let anchors: string[] = []
  let lines: HunkLine[] = []
  let isAtEnd = false
  const close = () => {
    if (lines.length === 0) return
    hunks.push({ header: `hunk ${hunks.length + 1}`, anchors, isAtEnd, lines })
    anchors = []
    lines = []
    isAtEnd = false
  }
  // A blank line before the next file is not part of the hunk.
  const used = body.at(-1) === '' ? body.slice(0, -1) : body
  for (const [index, line] of used.entries()) {
    if (line.startsWith('@@')) {
      close()
      const anchor = anchorOf(line)
      if (anchor.trim() !== '' && !/^-\d+(,\d+)? \+\d+/.test(anchor)) anchors.push(anchor)
    } else if (line.trimEnd() === END_OF_FILE) isAtEnd = true
    else if (line === '') lines.push({ op: ' ', text: '\n' })
    else if (line[0] === ' ' || line[0] === '-' || line[0] === '+')
      lines.push({ op: line[0], text: `${line.slice(1)}\n` })
    else
      return fault(
        `Line ${firstLine + index} of the patch should start with " ", "-", "+" or "@@": ${JSON.stringify(line.slice(0, 80))}.`,
      )
  }
  close()
  return hunks
}

/** What stands behind the `@@`, and before a second one where there is one. */
function anchorOf(line: string): string {
  const text = line.replace(/^@@\s?/, '')
  return text.endsWith('@@') ? text.slice(0, -2).trimEnd() : text
}
