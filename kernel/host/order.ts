import type { PluginManifest } from '#contracts/plugin'

/** Plugins so that each comes after those it may get services from, and the circles among them. */
export interface OpeningOrder<P> {
  readonly order: readonly P[]
  /** Name of a plugin that stands in a circle → the circle, as `a -> b -> a`. */
  readonly circles: ReadonlyMap<string, string>
}

/** Equal input in any sequence gives the same order. Members of a circle are listed too, in no useful place. */
export function openingOrder<P extends { readonly manifest: PluginManifest }>(plugins: readonly P[]): OpeningOrder<P> {
  const nodes = graphOf(plugins)
  const circles = new Map<string, string>()
  const order: P[] = []
  const done = new Set<string>()
  const path: string[] = []
  const visit = (name: string): void => {
    const at = path.indexOf(name)
    if (at >= 0) {
      const circle = path.slice(at)
      for (const member of circle) if (!circles.has(member)) circles.set(member, [...circle, name].join(' -> '))
      return
    }
    const node = nodes.get(name)
    if (node === undefined || done.has(name)) return
    path.push(name)
    node.after.forEach(visit)
    path.pop()
    done.add(name)
    order.push(node.plugin)
  }
  for (const name of nodes.keys()) visit(name)
  return { order, circles }
}

/** By name, in the order of names: a plugin and the names of those it comes after. */
function graphOf<P extends { readonly manifest: PluginManifest }>(plugins: readonly P[]) {
  const sorted = plugins.toSorted((a, b) => (a.manifest.name < b.manifest.name ? -1 : 1))
  const providers = new Map<symbol, string[]>()
  for (const { manifest } of sorted)
    for (const { id } of [...(manifest.provides ?? []), ...(manifest.contributes ?? [])])
      providers.set(id, [...(providers.get(id) ?? []), manifest.name])
  const nodes = new Map<string, { readonly plugin: P; readonly after: readonly string[] }>()
  for (const plugin of sorted) {
    const { name, needs = [], optional = [], gathers = [] } = plugin.manifest
    nodes.set(name, { plugin, after: [...needs, ...optional, ...gathers].flatMap(({ id }) => providers.get(id) ?? []) })
  }
  return nodes
}
