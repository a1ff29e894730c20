type Json = Readonly<Record<string, unknown>>

const METHODS = new Set(['get', 'put', 'post', 'delete', 'options', 'head', 'patch', 'trace'])
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)
const part = (of: unknown, key: string): Json => (isObject(of) && isObject(of[key]) ? of[key] : {})

/** What a strict OpenAPI 3.1 linter would complain about, one sentence each. */
export function lintOpenApi(document: unknown): readonly string[] {
  const complaints: string[] = []
  const ids = new Map<string, string>()
  const tags = new Set((isObject(document) && Array.isArray(document.tags) ? document.tags : []).map(tag => tag.name))
  const schemes = part(part(document, 'components'), 'securitySchemes')
  for (const [path, item] of Object.entries(part(document, 'paths'))) {
    if (!isObject(item)) continue
    for (const [method, operation] of Object.entries(item)) {
      const where = `${method} ${path}`
      if (!METHODS.has(method) || !isObject(operation)) {
        complaints.push(`${where} is no operation`)
        continue
      }
      complaints.push(...lintOperation(where, path, operation, tags, schemes))
      const id = String(operation.operationId)
      const twin = ids.get(id)
      if (twin !== undefined) complaints.push(`${where} has the operationId of ${twin}`)
      ids.set(id, where)
    }
  }
  return [...complaints, ...lintReferences(document, document)]
}

function* lintOperation(where: string, path: string, operation: Json, tags: ReadonlySet<unknown>, schemes: Json) {
  const { operationId, summary, security, responses, parameters = [] } = operation
  if (typeof operationId !== 'string' || !/^[a-z][A-Za-z0-9]*$/.test(operationId)) yield `${where} has no operationId`
  if (typeof summary !== 'string' || summary === '') yield `${where} has no summary`
  if (!Array.isArray(operation.tags) || !operation.tags.every(tag => tags.has(tag))) yield `${where} has an unknown tag`
  if (!Array.isArray(security)) yield `${where} says nothing about security`
  else if (!security.every(one => Object.keys(one).every(name => name in schemes)))
    yield `${where} names an unknown scheme`
  const statuses = isObject(responses) ? Object.entries(responses) : []
  if (!statuses.some(([status]) => /^[23]/.test(status))) yield `${where} has no success response`
  if (!statuses.some(([status]) => status.startsWith('4'))) yield `${where} has no 4xx response`
  for (const [status, answer] of statuses)
    if (!isObject(answer) || typeof answer.description !== 'string') yield `${where} ${status} has no description`
  const named = (Array.isArray(parameters) ? parameters : []).filter(one => one.in === 'path').map(one => one.name)
  const wanted = [...path.matchAll(/\{([^}]+)\}/g)].map(([, name]) => name)
  if (named.toSorted().join() !== wanted.toSorted().join()) yield `${where} does not declare its path parameters`
}

function* lintReferences(node: unknown, root: unknown): Generator<string> {
  if (typeof node !== 'object' || node === null) return
  for (const [key, value] of Object.entries(node)) {
    if (key === '$ref' && typeof value === 'string') {
      const target = value
        .slice(2)
        .split('/')
        .reduce<unknown>((at, step) => (isObject(at) ? at[step] : undefined), root)
      if (!value.startsWith('#/') || target === undefined) yield `${value} leads nowhere`
    } else yield* lintReferences(value, root)
  }
}
