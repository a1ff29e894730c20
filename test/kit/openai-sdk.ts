import OpenAI from 'openai'
import type { ModelTraits } from '#contracts/model/provider'
import type { ScriptedTurn, ScriptedWire } from './chat-wire.js'
import { loopTurns, stream } from './model-stream.js'
import type { connectionsForTest } from './openai-connections.js'

type Connections = ReturnType<typeof connectionsForTest>

interface Script {
  readonly turn: ScriptedTurn
  readonly cuts: readonly number[]
}

/** One server, our client and the vendor's package before it; both get the bytes of the next script, cut at these places. */
export async function sdkBench(connections: Connections, wire: ScriptedWire, api: ModelTraits['api']) {
  let script: Script = { turn: {}, cuts: [] }
  const { connection, server } = await connections.before(
    async (_, response) => {
      const bytes = Buffer.from(wire.frames(script.turn).join(''))
      stream(response)
      let at = 0
      for (const cut of [...script.cuts].sort((a, b) => a - b)) {
        if (cut <= at || cut >= bytes.length) continue
        response.write(bytes.subarray(at, cut))
        at = cut
        await loopTurns(1)
      }
      response.end(bytes.subarray(at))
    },
    { traits: () => ({ api, quirks: new Set() }) },
  )
  const sdk = new OpenAI({ baseURL: `${server.origin}/v1`, apiKey: 'sk-test', maxRetries: 0, logLevel: 'off' })
  const play = (next: Script) => {
    script = next
  }
  return { connection, server, sdk, play }
}
