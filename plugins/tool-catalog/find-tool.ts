import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import { defineTool, type ToolDefinition, type ToolResult } from '#contracts/tool/tool'
import { activate } from './activation.js'
import { scoreOf, termsOf } from './score.js'

const MAX_RESULTS = 10
const SELECT = 'select:'

const parameters = Type.Object({
  query: Type.String({
    minLength: 1,
    maxLength: 1000,
    description: 'What you need in a few keywords, or "select:<name>" (several separated by commas).',
  }),
})

/** `find_tool`: looks among the deferred tools and activates what it finds for the rest of the run. */
export const findTool = defineTool({
  name: 'find_tool',
  description:
    'Find more tools than you were given, and activate them. What it returns as activated can be called from your next turn on. Use keywords ("git history"), or "select:<name>" when you know the name.',
  parameters,
  action: 'list',
  isParallelSafe: false,
  tags: ['tools', 'discovery'],
  subject: ({ query }) => ({ text: query }),
  async execute({ query }, { run }): Promise<ToolResult> {
    const wanted = query.trim()
    return wanted.toLowerCase().startsWith(SELECT) ? select(run, wanted.slice(SELECT.length)) : search(run, wanted)
  },
})

function select(run: ActiveRun, list: string): ToolResult {
  const names = [...new Set(list.split(',').map(name => name.trim()))].filter(name => name !== '').slice(0, MAX_RESULTS)
  if (names.length === 0) return { error: 'select: names no tool. Write select:<name>, or search with keywords.' }
  const usable = names.flatMap(name => run.tools.get(name) ?? []).filter(tool => mayUse(run, tool))
  const [found, given] = [usable.filter(isDeferred), usable.filter(tool => !isDeferred(tool))]
  const missing = names.filter(name => !usable.some(tool => tool.name === name))
  const nothing = missing.length > 0 ? `There is no tool ${missing.join(', ')}; search with keywords.` : ''
  const remarks = [given.length > 0 ? `You have ${namesOf(given)} already: call ${them(given)}.` : '', nothing]
  if (found.length > 0) return answer(run, found, remarks)
  return given.length > 0 ? { output: { message: joined(remarks), activated: [], results: [] } } : { error: nothing }
}

function search(run: ActiveRun, query: string): ToolResult {
  const terms = termsOf(query)
  const deferred = [...run.tools.values()].filter(tool => isDeferred(tool) && mayUse(run, tool))
  const found = deferred
    .map(tool => ({ tool, score: scoreOf(tool, terms) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || (one.tool.name < other.tool.name ? -1 : 1))
    .slice(0, MAX_RESULTS)
    .map(({ tool }) => tool)
  if (found.length > 0) return answer(run, found, [])
  const message = `Nothing fits "${query}". ${deferred.length > 0 ? `There is: ${namesOf(deferred)}.` : 'There are no further tools.'}`
  return { output: { message, activated: [], results: [] } }
}

function answer(run: ActiveRun, found: readonly ToolDefinition[], remarks: readonly string[]): ToolResult {
  const added = activate(
    run,
    found.map(({ name }) => name),
  )
  const fresh = found.filter(({ name }) => added.includes(name))
  const old = found.filter(tool => !fresh.includes(tool))
  const told = [
    fresh.length > 0 ? `Activated: ${namesOf(fresh)}. Call ${them(fresh)} from your next turn on.` : '',
    old.length > 0 ? `Active already: ${namesOf(old)}.` : '',
  ]
  return {
    output: {
      message: joined([...told, ...remarks]),
      activated: found.map(({ name }) => name),
      results: found.map(({ name, description, tags }) => ({ name, description, ...(tags && { tags }) })),
    },
  }
}

const isDeferred = ({ tier }: ToolDefinition): boolean => tier === 'deferred'

/** The lists of the run win over any search. */
const mayUse = ({ policy: { allowedTools, deniedTools } }: ActiveRun, { name }: ToolDefinition): boolean =>
  !deniedTools.includes(name) && (allowedTools === undefined || allowedTools.includes(name))

const namesOf = (tools: readonly ToolDefinition[]): string => tools.map(({ name }) => name).join(', ')
const them = (tools: readonly ToolDefinition[]): string => (tools.length === 1 ? 'it' : 'them')
const joined = (sentences: readonly string[]): string => sentences.filter(sentence => sentence !== '').join(' ')
