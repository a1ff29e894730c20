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
const RESERVED: ReadonlySet<string> = new Set('if then elif else fi while until do done time ! { }'.split(' '))

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
  const from = words.findIndex(word => !RESERVED.has(word) && !ASSIGNMENT.test(word))
  return from < 0 ? [] : words.slice(from)
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
type Quote = '' | "'" | '"'

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
    if (quote === "'") {
      if (character === "'") quote = ''
      else word = (word ?? '') + character
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
