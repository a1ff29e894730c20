import { Failure } from '#contracts/errors'
import type { RouteDeclaration } from '../host/composed-app.js'

/** Methods that a path takes, comma separated; undefined for a path that no route has. */
export type AllowedMethods = (target: string) => string | undefined

/** Only asked when no route took a request, so the table is built at the first such request. */
export function createAllowedMethods(routes: readonly RouteDeclaration[]): AllowedMethods {
  let table: readonly { readonly pattern: RegExp; readonly methods: Set<string> }[] | undefined
  return target => {
    table ??= buildTable(routes)
    const [path = ''] = target.split('?', 1)
    const methods = table.filter(row => row.pattern.test(path)).flatMap(row => [...row.methods])
    return methods.length === 0 ? undefined : [...new Set(methods)].join(', ')
  }
}

/** 405 for a path that exists, else 404. */
export function failureOf(allowed: string | undefined): Failure {
  return allowed === undefined
    ? new Failure('not_found', 'there is nothing at this path')
    : new Failure('method_not_allowed', 'method not allowed', { details: { allow: allowed } })
}

function buildTable(routes: readonly RouteDeclaration[]) {
  const byUrl = new Map<string, Set<string>>()
  for (const { url, method } of routes) {
    const methods = byUrl.get(url) ?? new Set()
    byUrl.set(url, methods.add(method))
    if (method === 'GET') methods.add('HEAD')
  }
  return [...byUrl].map(([url, methods]) => ({ pattern: patternOf(url), methods }))
}

function patternOf(url: string): RegExp {
  const source = url
    .split('/')
    .map(part => (part.startsWith(':') ? '[^/]+' : part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replace('\\*', '.*')))
    .join('/')
  return new RegExp(`^${source}$`)
}
