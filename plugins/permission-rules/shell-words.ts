/** A command as rules compare it. */
export interface ShellCommand {
  /** All words, quotes removed, the first one without its folder, joined by spaces. */
  readonly text: string
  /** The same for every simple command in it: around `;`, `&&`, pipes, in subshells and substitutions. */
  readonly parts: readonly string[]
  /** False when a quote or a backslash is left open at the end. A shell may still run what stands before. */
  readonly isComplete: boolean
}

const BLANK = /\s/
const ASSIGNMENT = /^[A-Za-z_]\w*\+?=/
const RESERVED: ReadonlySet<string> = new Set('if then elif else fi while until do done time coproc ! { }'.split(' '))
/** With its target, or before it. */
const REDIRECTION = /^(?:\d+|\{\w+\})?(?:&>>?|<<<|<<-?|<>|<&|>&|>>|>\||<|>)(.*)$/s
/** In `$'...'`: a character by its code, or one that stands for itself as far as rules care. */
const ESCAPE = /\\(?:x([0-9a-f]{1,2})|u([0-9a-f]{1,4})|([0-7]{1,3})|(.))/isy

/** Splits a command into words as a shell does. */
export function parseShellCommand(command: string): ShellCommand {
  const whole = split(command, false)
  const { commands } = split(command, true)
  return {
    text: join(whole.commands[0] ?? []),
    parts: commands.map(words => join(withoutPrefix(words))).filter(text => text !== ''),
    isComplete: whole.isComplete,
  }
}

const join = ([first = '', ...rest]: readonly string[]): string => [baseName(first), ...rest].join(' ')

const baseName = (word: string): string => word.slice(word.lastIndexOf('/') + 1)

function withoutPrefix(words: readonly string[]): readonly string[] {
  let from = 0
  for (let word = words[0]; word !== undefined; word = words[from]) {
    const target = REDIRECTION.exec(word)?.[1]
    if (target === undefined && !RESERVED.has(word) && !ASSIGNMENT.test(word)) break
    from += target === '' ? 2 : 1
  }
  return words.slice(from)
}

/** What an escape at `at` stands for, and where it ends; undefined at the end of the text. */
function escapeAt(command: string, at: number): { readonly text: string; readonly end: number } | undefined {
  ESCAPE.lastIndex = at
  const [whole, hex, unicode, octal, other] = ESCAPE.exec(command) ?? []
  if (whole === undefined) return undefined
  const code = hex ?? unicode
  const number = code !== undefined ? Number.parseInt(code, 16) : Number.parseInt(octal ?? '', 8)
  return { text: other ?? String.fromCharCode(number), end: at + whole.length }
}

/** Not the `&` and `|` of a redirection: `2>&1`, `&> file`, `>| file`. */
function isOperator(command: string, at: number): boolean {
  const character = command[at] as string
  if (!';&|()\n'.includes(character)) return false
  const before = command[at - 1]
  if (character === '&') return before !== '>' && before !== '<' && command[at + 1] !== '>'
  return character !== '|' || before !== '>'
}

interface Split {
  readonly commands: readonly (readonly string[])[]
  readonly isComplete: boolean
}
/** `$`: the quote of `$'...'`, in which a backslash escapes. */
type Quote = '' | "'" | '"' | '$'

/** Words of the command; of each simple command in it when it is to be cut at operators. */
function split(command: string, cutsAtOperators: boolean): Split {
  const commands: string[][] = []
  let words: string[] = []
  let word: string | undefined
  let quote: Quote = ''
  /** Quotes around the parentheses and the backticks we are in. */
  const outer: Quote[] = []
  let aroundBackticks: Quote | undefined
  /** It ends with a backslash that escapes nothing. */
  let isCut = false
  const endWord = (): void => {
    if (word !== undefined) words.push(word)
    word = undefined
  }
  const endCommand = (): void => {
    endWord()
    commands.push(words)
    words = []
  }
  for (let at = 0; at < command.length; at++) {
    const character = command[at] as string
    if (quote === "'" || quote === '$') {
      const escaped = quote === '$' && character === '\\' ? escapeAt(command, at) : undefined
      if (character === "'") quote = ''
      else word = (word ?? '') + (escaped?.text ?? character)
      if (escaped) at = escaped.end - 1
    } else if (character === '\\') {
      isCut = at + 1 === command.length
      at++
      const escaped = command[at] ?? '\\'
      // Inside double quotes a backslash only stands before what it protects there.
      if (escaped !== '\n') word = (word ?? '') + (quote === '"' && !'$`"\\'.includes(escaped) ? '\\' : '') + escaped
    } else if (cutsAtOperators && character === '`') {
      endCommand()
      const inside = aroundBackticks
      aroundBackticks = inside === undefined ? quote : undefined
      quote = inside ?? ''
    } else if (cutsAtOperators && character === '$' && command[at + 1] === '(') {
      endCommand()
      outer.push(quote)
      quote = ''
      at++
    } else if (quote === '"') {
      if (character === '"') quote = ''
      else word = (word ?? '') + character
    } else if (character === '$' && (command[at + 1] === "'" || command[at + 1] === '"')) {
      quote = command[at + 1] === '"' ? '"' : '$'
      word ??= ''
      at++
    } else if (character === "'" || character === '"') {
      quote = character
      word ??= ''
    } else if (character === '#' && word === undefined) {
      const end = command.indexOf('\n', at)
      at = end < 0 ? command.length : end - 1
    } else if (cutsAtOperators && isOperator(command, at)) {
      endCommand()
      if (character === '(') outer.push('')
      if (character === ')') quote = outer.pop() ?? ''
    } else if (BLANK.test(character)) endWord()
    else word = (word ?? '') + character
  }
  endCommand()
  return { commands, isComplete: quote === '' && !isCut }
}
