import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { Failure } from '#contracts/errors'

/** Everything from this daemon and nothing inline: the page shows data, it must not be able to run any. */
export const DOCS_POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const TYPES: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': 'text/javascript; charset=utf-8',
  'favicon-32x32.png': 'image/png',
  'start.js': 'text/javascript; charset=utf-8',
}

/** The token that came with the page goes along to the script and from there to the document and to requests made by hand. */
const START = `const here = new URL(document.currentScript.src)
const token = here.searchParams.get('token')
window.ui = SwaggerUIBundle({
  url: '/openapi.json' + here.search,
  dom_id: '#docs',
  deepLinking: true,
  validatorUrl: null,
  onComplete() { if (token) window.ui.preauthorizeApiKey('bearer', token) },
})
`

/** The page itself. `token` is the key it was opened with, when that was in the address. */
export function docsPage(token: string | undefined): string {
  const query = token === undefined ? '' : `?token=${encodeURIComponent(token).replaceAll("'", '%27')}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>runwright API</title>
<link rel="icon" href="/docs/favicon-32x32.png${query}">
<link rel="stylesheet" href="/docs/swagger-ui.css${query}">
</head>
<body>
<div id="docs"></div>
<script src="/docs/swagger-ui-bundle.js${query}"></script>
<script src="/docs/start.js${query}"></script>
</body>
</html>
`
}

/** One of the page's own files, from the installed package. Fails with `not_found` for any other name. */
export async function docsAsset(name: string): Promise<{ readonly type: string; readonly content: string | Buffer }> {
  const type = Object.hasOwn(TYPES, name) ? TYPES[name] : undefined
  if (type === undefined) throw new Failure('not_found', 'there is nothing at this path')
  if (name === 'start.js') return { type, content: START }
  const root = dirname(createRequire(import.meta.url).resolve('@fastify/swagger-ui/package.json'))
  return { type, content: await readFile(join(root, 'static', name)) }
}
