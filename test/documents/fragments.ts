import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** A page of documentation, by its path from the root of the package. */
export interface Page {
  readonly file: string
  readonly text: string
}

const FOLDERS = ['config', 'contracts', 'examples', 'kernel', 'plugins', 'test']
const IS_PAGE = /(^|\/)README\.md$|^examples\/.*\.md$|^kernel\/decisions\/.*\.md$/

/** Every page that people read; what models read (prompts) is none. */
export function readPages(root: string): readonly Page[] {
  const found = FOLDERS.flatMap(folder =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter(entry => entry.isFile())
      .map(entry => relative(root, join(entry.parentPath, entry.name)))
      .filter(file => IS_PAGE.test(file)),
  )
  return ['README.md', ...found].map(file => ({ file, text: readFileSync(join(root, file), 'utf8') }))
}

/** What stands in code fences, indented blocks (a line each) and between backticks. */
export function codeIn(text: string): readonly string[] {
  const found: string[] = []
  let isFenced = false
  for (const line of text.split('\n')) {
    if (line.startsWith('```')) isFenced = !isFenced
    else if (isFenced || /^ {4}/.test(line)) found.push(line.trim())
    else for (const [, code = ''] of line.matchAll(/`([^`]+)`/g)) found.push(code)
  }
  return found
}

/** The words of each command line of `runwright` in a fragment, the program's name left out. */
export function runwrightCommands(fragment: string): readonly (readonly string[])[] {
  return [...fragment.matchAll(/(?<![\w/.@'"-])runwright (?=[a-z-])/g)].map(({ index }) =>
    wordsOf(fragment.slice(index + 'runwright '.length)),
  )
}

/** Shell words up to the end of the command: a pipe, a redirection, a comment, a closing bracket. `<name>` is a word. */
export function wordsOf(text: string): readonly string[] {
  const WORD = /\s*("[^"]*"|'[^']*'|<[\w …-]+>|[^\s"'`|;&()<>#][^\s"'`|;&()<>]*)/y
  const words: string[] = []
  for (let match = WORD.exec(text); match; match = WORD.exec(text)) words.push(match[1] ?? '')
  return words
}

/** Settings of the environment in front of a command are no part of it. */
export const withoutVariables = (line: string): string => line.replace(/^(\$ )?(\w+=(?:"[^"]*"|\S*)\s+)*/, '')
