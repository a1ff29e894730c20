import { deepStrictEqual, match, rejects } from 'node:assert/strict'
import { basename } from 'node:path'
import type { TSchema } from '@sinclair/typebox'
import { Value } from '@sinclair/typebox/value'
import { createHookTable } from '#contracts/hooks'
import { SCOPES } from '#contracts/identity'
import type { PluginManifest, PluginScope } from '#contracts/plugin'
import { checkConfig } from '#kernel/host/check-config'
import { handlesLeftBy } from './handles.js'
import { misnamedSettings } from './misnamed-settings.js'
import { type OpenPluginOptions, openGeneration, openPlugin } from './open-plugin.js'

/** What a plugin is checked with. `config` and `ports` are what it needs to open; the config must be one that works. */
export interface PluginCaseOptions extends OpenPluginOptions {
  /** The plugin's folder, `import.meta.dirname` of its test: then its name is checked too. */
  readonly dir?: string
}

/** One promise of the contract. `run` rejects with what is broken. */
export interface PluginCase {
  readonly name: string
  run(): Promise<void>
}

const REOPENINGS = 10
const NAME = /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/
const SERVED = /^\/(v1|mcp|viz)(\/|$)/
const TOOL_NAME = /^[a-zA-Z0-9_-]{1,64}$/

/** What every plugin owes the host, whatever it does. The cases stand alone and need no test runner. */
export function pluginCases(plugin: PluginManifest, options: PluginCaseOptions = {}): readonly PluginCase[] {
  return [
    {
      name: 'its manifest is one the host takes',
      run: async () => {
        match(plugin.name, NAME)
        if (options.dir !== undefined) deepStrictEqual(plugin.name, basename(options.dir))
      },
    },
    {
      name: 'its settings are named in snake_case, and none takes the name enabled',
      run: async () => deepStrictEqual(misnamedSettings(plugin.config), []),
    },
    {
      name: 'it provides only what it declares',
      run: async () => {
        const generation = await openGeneration(plugin, options)
        const declared = (plugin.provides ?? []).map(({ id }) => id)
        const undeclared = [...generation.contributions.services.keys()].filter(id => !declared.includes(id))
        await generation.dispose()
        deepStrictEqual(undeclared, [])
      },
    },
    { name: 'registering starts no timer, server or watch', run: () => registersQuietly(plugin, options) },
    {
      name: `opening, starting and closing it ${REOPENINGS} times leaves no handle and no complaint`,
      run: () => reopens(plugin, options),
    },
    { name: 'closing undoes in reverse order what was acquired', run: () => undoesInReverse(plugin, options) },
    {
      name: 'its routes lie below /v1, /mcp or /viz and each says its scope',
      run: async () => {
        const opened = await openPlugin(plugin, options)
        const scopes: readonly unknown[] = [...SCOPES, 'none']
        const wrong = opened.routes.filter(({ url, scope }) => !SERVED.test(url) || !scopes.includes(scope))
        await opened.close()
        deepStrictEqual(wrong, [])
      },
    },
    {
      name: 'its tools have names of their own, a description and object parameters',
      run: () => namesItsTools(plugin, options),
    },
    {
      name: 'it taps only hooks there are',
      run: async () => {
        const generation = await openGeneration(plugin, options)
        await generation.dispose()
        const hooks = Object.keys(createHookTable())
        deepStrictEqual(
          generation.contributions.taps.filter(({ hook }) => !hooks.includes(hook)),
          [],
        )
      },
    },
    {
      name: 'a config of the wrong type is refused with a message that names the field',
      run: () => refusesWrongConfig(plugin, options),
    },
  ]
}

async function registersQuietly(plugin: PluginManifest, options: OpenPluginOptions): Promise<void> {
  let close = async (): Promise<void> => undefined
  const started = await handlesLeftBy(async () => {
    const generation = await openGeneration(plugin, options)
    close = () => generation.dispose()
  })
  await close()
  deepStrictEqual(
    started.filter(kind => ['timer', 'server', 'watch'].includes(kind)),
    [],
  )
}

async function reopens(plugin: PluginManifest, options: OpenPluginOptions): Promise<void> {
  const complaints: unknown[] = []
  const left = await handlesLeftBy(async () => {
    for (let round = 0; round < REOPENINGS; round += 1) {
      const opened = await openPlugin(plugin, options)
      opened.activate()
      await Promise.resolve()
      await opened.close()
      if (opened.generation.lastError !== undefined) complaints.push(opened.generation.lastError)
    }
  })
  deepStrictEqual({ left, complaints }, { left: [], complaints: [] })
}

async function undoesInReverse(plugin: PluginManifest, options: OpenPluginOptions): Promise<void> {
  const deferred: number[] = []
  const undone: number[] = []
  const generation = await openGeneration(watchUndos(plugin, deferred, undone), options)
  await generation.dispose()
  deepStrictEqual({ undone, lastError: generation.lastError }, { undone: deferred.toReversed(), lastError: undefined })
}

async function namesItsTools(plugin: PluginManifest, options: OpenPluginOptions): Promise<void> {
  const generation = await openGeneration(plugin, options)
  const { tools } = generation.contributions
  await generation.dispose()
  const wrong = tools.filter(
    ({ name, description, parameters }) =>
      !TOOL_NAME.test(name) || description.trim() === '' || parameters.type !== 'object',
  )
  const names = tools.map(({ name }) => name).toSorted()
  deepStrictEqual({ wrong: wrong.map(({ name }) => name), names }, { wrong: [], names: [...new Set(names)] })
}

async function refusesWrongConfig(plugin: PluginManifest, options: OpenPluginOptions): Promise<void> {
  const check = async (config: unknown) => checkConfig(plugin.name, plugin.config, config)
  const naming = (what: string) => (error: unknown) => error instanceof Error && error.message.includes(what)
  await rejects(check('not an object'), naming(plugin.name))
  const properties = Object.entries((plugin.config.properties ?? {}) as Record<string, TSchema>)
  for (const [field, schema] of properties) {
    const wrong = WRONG_VALUES.find(value => !Value.Check(schema, value))
    if (wrong === undefined) continue
    const shown = `${field} = ${JSON.stringify(wrong)} was not refused by its name`
    await rejects(check({ ...configOf(options), [field]: wrong }), naming(field), shown)
  }
}

const WRONG_VALUES: readonly unknown[] = [Object.freeze({ wrong: [] }), 'wrong', -1.5, null]

const configOf = ({ config }: OpenPluginOptions): object =>
  typeof config === 'object' && config !== null ? config : {}

/** The same plugin, with a note made of every undo as it is handed in and as it runs. */
function watchUndos(plugin: PluginManifest, deferred: number[], undone: number[]): PluginManifest {
  const register = (scope: PluginScope<never>): void | Promise<void> =>
    plugin.register({
      ...scope,
      defer: undo => {
        const number = deferred.push(deferred.length) - 1
        scope.defer(() => {
          undone.push(number)
          return undo()
        })
      },
    })
  return { ...plugin, register: register as PluginManifest['register'] }
}
