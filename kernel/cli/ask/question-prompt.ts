import { plainLine } from '../render/plain-text.js'

/** A question of a run, as the event and `GET /v1/runs/{id}/input` tell it. */
export interface RunQuestion {
  readonly question: string
  readonly header?: string
  readonly options: readonly { readonly label: string; readonly description?: string }[]
  readonly multiSelect?: boolean
}

/** The questions in a payload, as far as they are ones. */
export function questionsIn(value: unknown): readonly RunQuestion[] {
  if (!Array.isArray(value)) return []
  return value.flatMap(entry =>
    typeof entry?.question === 'string'
      ? [
          {
            ...entry,
            options: Array.isArray(entry.options)
              ? entry.options.filter((option: { label?: unknown }) => typeof option?.label === 'string')
              : [],
          },
        ]
      : [],
  )
}

/** A question with its numbered answers, harmless for a terminal. */
export function questionScreen({ question, header, options }: RunQuestion): string {
  const title = header ? `[${plainLine(header)}] ` : ''
  return [
    `${title}${plainLine(question)}`,
    ...options.map(
      ({ label, description }, at) =>
        `  ${at + 1}) ${plainLine(label)}${description ? `: ${plainLine(description)}` : ''}`,
    ),
    '',
  ].join('\n')
}

/** The line that waits for the answer. */
export const questionLine = ({ options, multiSelect }: RunQuestion): string =>
  multiSelect ? `Answer, 1-${options.length}, several with commas: ` : `Answer, 1-${options.length}: `

/**
 * The answer a text stands for, as the daemon takes it: a label, or labels separated by commas. Options are named by label or
 * number; `first` says what counts where a label is itself a number. Undefined when the text names none, an unknown one, or one twice.
 */
export function readAnswer(
  text: string,
  { options, multiSelect }: RunQuestion,
  first: 'number' | 'label',
): string | undefined {
  const labels = options.map(({ label }) => label)
  const labelOf = (name: string): string | undefined => {
    const word = name.trim()
    const exact = labels.find(label => label.trim() === word)
    const near = labels.filter(label => label.trim().toLowerCase() === word.toLowerCase())
    const named = exact ?? (near.length === 1 ? near[0] : undefined)
    const numbered = /^[1-9]\d?$/.test(word) ? labels[Number(word) - 1] : undefined
    return first === 'label' ? (named ?? numbered) : (numbered ?? named)
  }
  const whole = labelOf(text)
  if (whole !== undefined || !multiSelect) return whole
  const chosen = text.split(',').map(labelOf)
  if (chosen.includes(undefined) || new Set(chosen).size !== chosen.length) return undefined
  return chosen.join(',')
}
