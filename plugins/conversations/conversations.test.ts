import { expect, test } from 'vitest'
import type { Events } from '#contracts/event/events'
import { EVENTS } from '#contracts/ports'
import { describePlugin } from '#test/kit/describe-plugin'
import { openPlugin } from '#test/kit/open-plugin'
import { standInPorts } from '#test/kit/stand-in-ports'
import { plugin } from './index.js'

describePlugin(plugin, { dir: import.meta.dirname, ports: standInPorts(plugin) })

test('the stream of a conversation is handed to the event port, with its very id', async () => {
  const asked: string[] = []
  const streamConversation: Events['streamConversation'] = async (_request, reply, id) => {
    asked.push(id)
    reply.hijack()
    reply.raw.end('stream')
  }
  const events = { ...(standInPorts(plugin).get(EVENTS.id) as Events), streamConversation }
  const opened = await openPlugin(plugin, { ports: [[EVENTS, events]] })
  const reply = await opened.app.inject({ url: '/v1/conversations/a%2Fb/events' })
  expect([reply.body, asked]).toEqual(['stream', ['a/b']])
  await opened.close()
})

test('a failure before the stream is answered as one', async () => {
  const opened = await openPlugin(plugin, { ports: standInPorts(plugin) })
  const reply = await opened.app.inject({ url: '/v1/conversations/c1/events' })
  expect([reply.statusCode, reply.json()]).toMatchObject([404, { error: { code: 'not_found' } }])
  await opened.close()
})
