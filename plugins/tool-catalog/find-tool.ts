import { Type } from '@sinclair/typebox'
import type { ActiveRun } from '#contracts/run/active-run'
import { defineTool, type ToolDefinition, type ToolResult } from '#contracts/tool/tool'
import { activate, activatedIn } from './activation.js'
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
  const usable = usableIn(run)
  const found = names.map(name => usable.find(tool => tool.name === name)).filter(tool => tool !== undefined)
  const missing = names.filter(name => !found.some(tool => tool.name === name))
  if (found.length === 0)
    return {
      error: `There is no tool ${names.join(', ') || 'without a name'} to activate. Search with keywords instead.`,
    }
  return answer(run, found, missing.length > 0 ? ` There is no tool ${missing.join(', ')}.` : '')
}

function search(run: ActiveRun, query: string): ToolResult {
  const terms = termsOf(query)
  const found = usableIn(run)
    .map(tool => ({ tool, score: scoreOf(tool, terms) }))
    .filter(({ score }) => score > 0)
    .toSorted((one, other) => other.score - one.score || (one.tool.name < other.tool.name ? -1 : 1))
    .slice(0, MAX_RESULTS)
    .map(({ tool }) => tool)
  if (found.length > 0) return answer(run, found, '')
  const names = usableIn(run).map(({ name }) => name)
  const message = `Nothing fits "${query}". ${names.length > 0 ? `There is: ${names.join(', ')}.` : 'There are no further tools.'}`
  return { output: { message, activated: [], results: [] } }
}

function answer(run: ActiveRun, found: readonly ToolDefinition[], remark: string): ToolResult {
  const added = activate(
    run,
    found.map(({ name }) => name),
  )
  const active = activatedIn(run)
  return {
    output: {
      message: `${added.length > 0 ? `Activated ${added.join(', ')}: call them from now on.` : 'All of these were active already.'}${remark}`,
      activated: found.map(({ name }) => name).filter(name => active.includes(name)),
      results: found.map(({ name, description, tags }) => ({ name, description, ...(tags && { tags }) })),
    },
  }
}

/** Deferred tools this run may use at all; the lists of the run win over any search. */
function usableIn({ tools, policy }: ActiveRun): readonly ToolDefinition[] {
  const { allowedTools, deniedTools } = policy
  return [...tools.values()].filter(
    ({ name, tier }) =>
      tier === 'deferred' && !deniedTools.includes(name) && (allowedTools === undefined || allowedTools.includes(name)),
  )
}
