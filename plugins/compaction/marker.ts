import type { Message } from '#contracts/run/message'

const NOTE = /^(\d+) messages with tool calls and their results were taken out here to save context\.\s*/

/** Says how many messages are gone by now. */
export const noteOf = (dropped: number): string =>
  `${dropped} messages with tool calls and their results were taken out here to save context.`

/** What a compaction leaves behind: one message, after the leading system messages. */
export const markerOf = (content: string): Message => ({
  role: 'system',
  name: 'compact_summary',
  content,
  is_compact_summary: true,
})

export const isMarker = (message: Message | undefined): boolean =>
  message?.is_compact_summary === true && message.role === 'system'

/** How many messages are gone by the notes of earlier markers. */
export const countIn = (markers: readonly Message[]): number =>
  markers.reduce((sum, { content }) => sum + Number(NOTE.exec(content)?.[1] ?? 0), 0)

/** What markers tell besides their notes. */
export const toldBy = (markers: readonly Message[]): string =>
  markers
    .map(({ content }) => content.replace(NOTE, '').trim())
    .filter(text => text !== '')
    .join('\n\n')
