import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { SETTING_ROWS } from './schema.js'
import { createSecrets, isSecretName, takeEnvironment } from './secrets.js'

const NAMES = [
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GITHUB_TOKEN',
  'AWS_SECRET_ACCESS_KEY',
  'AWS_ACCESS_KEY_ID',
  'CHAT_SIGNING_SECRET',
  'DB_PASSWORD',
  'DATABASE_URL',
  'GOOGLE_APPLICATION_CREDENTIALS',
  'SVC_MCP_SERVERS',
]

test('secrets leave the environment that children inherit and stay readable in the snapshot', () => {
  const child = `
    import('${new URL('./secrets.js', import.meta.url).href}').then(async ({ takeEnvironment, createSecrets }) => {
      const secrets = createSecrets(takeEnvironment())
      const { execFileSync } = await import('node:child_process')
      const inherited = execFileSync('env', { encoding: 'utf8' })
      console.log(JSON.stringify({ inherited, kept: ${JSON.stringify(NAMES)}.map(name => secrets.get(name)) }))
    })`
  const given = Object.fromEntries(NAMES.map(name => [name, `canary-${name}`]))
  const output = execFileSync(process.execPath, ['-e', child], {
    encoding: 'utf8',
    env: { PATH: process.env.PATH, OPENAI_BASE_URL: 'http://x', ...given },
  })
  const { inherited, kept } = JSON.parse(output)
  expect(inherited).not.toContain('canary')
  expect(inherited).toContain('OPENAI_BASE_URL=http://x')
  expect(kept).toEqual(Object.values(given))
})

test('every secret of the settings table counts as one, and harmless names do not', () => {
  const harmless = [
    'PATH',
    'HOME',
    'SVC_MODEL',
    'OPENAI_BASE_URL',
    'KEYBOARD',
    'TOKENIZERS_PARALLELISM',
    'SSH_AUTH_SOCK',
  ]
  expect(SETTING_ROWS.filter(([, row]) => row.secret && row.env !== undefined && !isSecretName(row.env))).toEqual([])
  expect(harmless.filter(isSecretName)).toEqual([])
})

test('a variable set to nothing is absent, and no name reaches into the object', () => {
  const secrets = createSecrets(takeEnvironment({ EMPTY: '', SET: 'x' }))
  expect(['EMPTY', 'SET', 'toString', '__proto__'].map(name => secrets.get(name))).toEqual([
    undefined,
    'x',
    undefined,
    undefined,
  ])
})
