import { Type } from '@sinclair/typebox'
import type { RoutePlugin } from '#contracts/http'
import type { ToolCatalog, ToolDefinition } from '#contracts/tool/tool'

const Entry = Type.Object({
  name: Type.String(),
  description: Type.String(),
  tier: Type.Union([Type.Literal('core'), Type.Literal('deferred')]),
  tags: Type.Optional(Type.Array(Type.String())),
  owner: Type.String({ description: 'Dotted group name.' }),
  condition: Type.String({ description: 'What must be there for the tool to exist.' }),
  parameters: Type.Optional(Type.Unknown()),
})
const Catalog = Type.Object({
  tools: Type.Array(Entry),
  count: Type.Integer(),
  configured_unavailable_toolsets: Type.Array(Type.Unknown()),
  unavailable: Type.Array(Type.Unknown()),
})

/** `GET /v1/tools`: every tool runs that start now would have. */
export function toolRoutes(catalog: ToolCatalog): RoutePlugin {
  return async app => {
    app.get(
      '/v1/tools',
      {
        config: { scope: 'runs:read' },
        schema: { summary: 'List the tools of agents', tags: ['catalog'], response: { 200: Catalog } },
      },
      async () => {
        const tools = catalog
          .list()
          .map(entryOf)
          .toSorted((one, other) => (one.name < other.name ? -1 : 1))
        // A group of tools whose plugin is absent is absent here too: nothing is promised and missing.
        return { tools, count: tools.length, configured_unavailable_toolsets: [], unavailable: [] }
      },
    )
  }
}

const entryOf = ({
  name,
  description,
  tier = 'core',
  tags,
  owner = 'core',
  condition = 'always',
  parameters,
}: ToolDefinition) => ({
  name,
  description,
  tier,
  ...(tags && { tags: [...tags] }),
  owner,
  condition,
  parameters,
})
