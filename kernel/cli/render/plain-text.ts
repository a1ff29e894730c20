/**
 * Text of a model, a tool or a server, made harmless for a terminal: nothing in it can move the cursor, change colours or
 * titles, reach the clipboard, or reorder what is read. Replacement goes character by character, so a sequence that is
 * split over two pieces is caught like a whole one. Tabs and line feeds stay; a carriage return becomes a line feed,
 * because it would overwrite what was shown.
 */
export function plainText(text: string): string {
  return text.replace(/\r\n?/g, '\n').replace(HARMFUL, replacement)
}

/** The same, on one line. */
export const plainLine = (text: string): string => plainText(text).replace(/\s+/g, ' ').trim()

/** At most `length` characters, with a mark where something was left out. */
export function cut(text: string, length: number): string {
  const characters = [...text.slice(0, length * 2 + 2)]
  return characters.length <= length ? text : `${characters.slice(0, Math.max(0, length - 1)).join('')}…`
}

/** C0 without tab and line feed, DEL, C1, and the characters that change reading direction. */
const HARMFUL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const CONTROL_PICTURES = 0x2400

function replacement(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(CONTROL_PICTURES + code)
  if (code === 0x7f) return '␡'
  return '�'
}
