import type { ApprovalOption } from '#contracts/approval'

const IDS = ['a', 'b', 'c']
const MAX_LABEL_CHARS = 200
const MAX_DESCRIPTION_CHARS = 2000
const HEADING = /^##\s+approaches[\s#]*$/i
const ITEM = /^(?:[-*+]|\d{1,3}[.)])\s+(\S.*)$/
const SEPARATORS = [' — ', ' – ', ': ', ' - ']

/**
 * The ways to go that a plan offers: one to three items of its section `## Approaches`, each a label and, after a dash or
 * a colon, a description. Any other number of items offers no choice.
 */
export function approachesOf(plan: string): readonly ApprovalOption[] {
  const lines = plan.split('\n')
  const start = lines.findIndex(line => HEADING.test(line.trimEnd()))
  if (start < 0) return []
  const items: string[] = []
  for (const line of lines.slice(start + 1)) {
    if (/^#{1,2}\s/.test(line)) break
    const item = ITEM.exec(line.trimEnd())?.[1]
    if (item !== undefined) items.push(item)
  }
  if (items.length > IDS.length) return []
  return items.map((item, index) => ({ id: IDS[index] ?? '', ...split(item) }))
}

/** At the first separator that stands in the item. */
function split(item: string): Omit<ApprovalOption, 'id'> {
  const [first] = SEPARATORS.map(separator => ({ at: item.indexOf(separator), separator }))
    .filter(({ at }) => at > 0)
    .sort((one, other) => one.at - other.at)
  if (!first) return { label: plain(item).slice(0, MAX_LABEL_CHARS) }
  return {
    label: plain(item.slice(0, first.at)).slice(0, MAX_LABEL_CHARS),
    description: item
      .slice(first.at + first.separator.length)
      .trim()
      .slice(0, MAX_DESCRIPTION_CHARS),
  }
}

const plain = (label: string): string => label.replace(/\*\*|__|`/g, '').trim()
