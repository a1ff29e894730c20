import { Type } from '@sinclair/typebox'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RoutePlugin } from '#contracts/http'
import { RunRequest } from '#contracts/run/request'
import { bootFront, type FrontUnderTest } from '#test/kit/boot-front'
import { lintOpenApi } from '#test/kit/lint-openapi'

const Tree = Type.Recursive(This => Type.Object({ value: Type.String(), children: Type.Array(This) }), { $id: 'Tree' })

const probe: RoutePlugin = async app => {
  app.post(
    '/v1/runs',
    {
      config: { scope: 'runs:write' },
      schema: { body: RunRequest, response: { 202: Type.Object({ run_id: Type.String() }) }, summary: 'Start a run' },
    },
    async (_request, reply) => reply.code(202).send({ run_id: 'run_1' }),
  )
  app.get('/v1/runs/:id', { config: { scope: 'runs:read' } }, async () => ({}))
  app.post(
    '/v1/runs/:id/approve',
    { config: { scope: 'runs:write' }, schema: { body: Type.Optional(Type.Object({ option: Type.String() })) } },
    async () => ({}),
  )
  app.get(
    '/v1/trees',
    {
      config: { scope: 'runs:read' },
      schema: { querystring: Type.Object({ limit: Type.Integer({ default: 5 }) }), response: { 200: Tree } },
    },
    async () => ({ value: '', children: [] }),
  )
  app.post('/v1/webhooks/chat', { config: { scope: 'none', isRawBody: true } }, async () => ({}))
  app.get('/viz/*', { config: { scope: 'runs:read' } }, async () => ({}))
  app.get('/viz/', { config: { scope: 'runs:read' } }, async () => ({}))
  app.get('/viz', { config: { scope: 'runs:read' } }, async () => ({}))
}

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly security: object[]
  readonly responses: Record<string, { content?: object }>
  readonly requestBody?: { required: boolean }
  readonly parameters?: object[]
}
type Document = { readonly openapi: string; readonly paths: Record<string, Record<string, Operation>> }

let daemon: FrontUnderTest
let document: Document
beforeAll(async () => {
  daemon = await bootFront([probe])
  const reply = await fetch(`${daemon.url}/openapi.json`)
  document = (await reply.json()) as Document
})
afterAll(() => daemon.close())

test('the document is 3.1 and lint-clean', () => {
  expect(document.openapi).toBe('3.1.0')
  expect(lintOpenApi(document)).toEqual([])
})

test('the lint finds what it should', () => {
  const broken = structuredClone(document) as unknown as {
    paths: Record<string, Record<string, Record<string, unknown>>>
  }
  const post = broken.paths['/v1/runs']!.post!
  delete post.summary
  post.operationId = broken.paths['/v1/trees']!.get!.operationId
  post.security = [{ nobody: [] }]
  post.responses = { 202: { $ref: '#/components/schemas/nothing' } }
  delete broken.paths['/v1/runs/{id}']!.get!.parameters
  expect(lintOpenApi(broken)).toHaveLength(7)
})

test('it has every declared route with its scope and nothing else', () => {
  const listed = Object.entries(document.paths).flatMap(([url, item]) =>
    Object.keys(item).map(method => `${method} ${url}`),
  )
  expect(listed.sort()).toEqual([
    'get /healthz',
    'get /openapi.json',
    'get /readyz',
    'get /v1/plugins',
    'get /v1/runs/{id}',
    'get /v1/trees',
    'get /viz',
    'get /viz/',
    'get /viz/{path}',
    'post /v1/runs',
    'post /v1/runs/{id}/approve',
    'post /v1/webhooks/chat',
  ])
  const { post } = document.paths['/v1/runs']!
  expect(post).toMatchObject({
    operationId: 'postRuns',
    summary: 'Start a run',
    security: [{ bearer: ['runs:write'] }, { token: ['runs:write'] }],
    requestBody: { required: true },
  })
  expect(Object.keys(post!.responses)).toEqual(['202', '400', '401', '403', '413', '415', '503'])
  expect(document.paths['/v1/runs/{id}/approve']!.post).toMatchObject({ requestBody: { required: false } })
  expect(document.paths['/v1/webhooks/chat']!.post).toMatchObject({ security: [] })
})

test('the page and its files come from here, under a policy without inline code', async () => {
  const page = await fetch(`${daemon.url}/docs`)
  const html = await page.text()
  expect(page.headers.get('content-security-policy')).toContain(
    "default-src 'none'; script-src 'self'; style-src 'self'",
  )
  expect(html).not.toMatch(/<script>|<style|style=|onload|https?:/)
  const files = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, path]) => path)
  expect(files).toHaveLength(4)
  for (const path of files) {
    const reply = await fetch(daemon.url + path)
    expect([reply.status, reply.headers.get('content-type')]).toEqual([
      200,
      expect.stringMatching(/css|javascript|png/),
    ])
    expect((await reply.arrayBuffer()).byteLength).toBeGreaterThan(100)
  }
  for (const name of ['package.json', 'index.html', 'toString'])
    expect((await fetch(`${daemon.url}/docs/${name}`)).status).toBe(404)
})

test('a token in the address goes along to the files, harmless in the text of the page', async () => {
  const html = await (await fetch(`${daemon.url}/docs?token=${encodeURIComponent('"><script>x')}`)).text()
  expect(html).toContain('/docs/start.js?token=%22%3E%3Cscript%3Ex"')
  expect(html).not.toContain('<script>x')
})

test('the plugin list comes from the host', async () => {
  expect(await (await fetch(`${daemon.url}/v1/plugins`)).json()).toEqual({ plugins: [{ name: 'probe' }] })
})
