import { describe, expect, test } from 'vitest'
import { RUN_ID } from './testing/protocol-server.js'
import { serverWith } from './testing/server-with.js'
import { memoryKeyStore, testEnvironment } from './testing/test-environment.js'

describe('help', () => {
  const commands = [
    [],
    ['serve'],
    ['run'],
    ['attach'],
    ['approve'],
    ['deny'],
    ['answer'],
    ['steer'],
    ['continue'],
    ['todos'],
    ['runs'],
    ['runs', 'ls'],
    ['runs', 'get'],
    ['runs', 'cancel'],
    ['models'],
    ['providers'],
    ['providers', 'key'],
    ['providers', 'import'],
    ['keys'],
    ['keys', 'create'],
    ['keys', 'list'],
    ['keys', 'revoke'],
    ['plugin'],
    ['plugin', 'new'],
    ['plugin', 'check'],
    ['plugin', 'ls'],
    ['config'],
    ['config', 'show'],
    ['doctor'],
  ]
  test.each(commands.map(command => [command.join(' '), command] as const))(
    'of "%s" has two examples, asked for either way',
    async (_name, command) => {
      const { code, out, err } = await testEnvironment().run(...command, '--help')
      expect({ code, err, examples: out.split('Examples:\n')[1]?.trim().split('\n').length }).toEqual({
        code: 0,
        err: '',
        examples: 2,
      })
      expect(await testEnvironment().run('help', ...command)).toEqual({ code, out, err })
    },
  )
})

describe('wrong use is exit code 1 and says what was meant', () => {
  test.each([
    [['rnu', 'x'], "runwright: unknown command 'rnu'\n(Did you mean run?)"],
    [['help', 'rnu'], "runwright: unknown command 'rnu'"],
    [['help', 'runs', 'lst'], "runwright: unknown command 'runs lst'"],
    [['run', 'x', '--modle', 'y'], 'Did you mean --model?'],
    [['run'], "missing required argument 'prompt'"],
    [['run', 'fix', 'the', 'tests'], 'too many arguments'],
    [['run', 'x', '--max-steps', '-1'], 'whole number'],
    [['run', 'x', '--max-cost', 'much'], 'Give a number'],
    [['run', 'x', '--sandbox', 'none'], 'workspace, local, unrestricted'],
    [['run', 'x', '--json', '--quiet'], 'not both'],
    [['run', ' '], 'the prompt is empty'],
    [['run', 'x', '--approval', 'some'], 'none, destructive, all'],
    [['run', 'x', '--unattended', 'go'], 'wait, deny, fail'],
    [['continue', 'run_1', ' '], 'the prompt is empty'],
    [['steer', 'run_1', ' '], 'the text is empty'],
    [['steer', 'run_1'], "missing required argument 'text'"],
    [['run', 'x', '--base-url', 'localhost:8080'], 'http or https'],
    [['attach', 'run_1', '--after', 'run_2:7'], '--after takes an event of run_1'],
    [['keys', 'create', '--tenant', 't', '--scope', 'root'], 'runs:read, runs:write, admin'],
    [['keys', 'create', '--tenant', 't', '--scope', 'admin', '--expires', '2027-02-31T00:00:00Z'], '--expires'],
    [['keys', 'create', '--tenant', 't', '--scope', 'admin', '--expires', '2020-01-01T00:00:00Z'], 'past'],
    [['keys', 'list'], 'SVC_RUN_DB'],
    [['plugin', 'new', 'Word Count'], 'kebab-case'],
  ])('%j', async (argv, says) => {
    const { code, out, err } = await testEnvironment().run(...argv)
    expect({ code, out, err }).toEqual({ code: 1, out: '', err: expect.stringContaining(says) })
  })
})

describe('run', () => {
  test('sends what was asked for and nothing else', async () => {
    const { baseUrl, seen } = await serverWith({})
    const flags =
      '--model m --provider p --system-prompt s --conversation c --max-steps 3 --max-turns 4 --max-cost 0.5 --workspace sub --allow-tool read --allow-tool ls --deny-tool bash --sandbox local --network deny --plan --approval all --unattended deny --allow-fallback --idempotency-key k --token t'
    await testEnvironment({ baseUrl }).run('run', 'hello', ...flags.split(' '))
    await testEnvironment({ baseUrl, token: 'from-environment', input: 'from stdin\n' }).run('run', '-')
    const posts = seen.filter(({ method }) => method === 'POST')
    expect(posts.map(({ body }) => body)).toEqual([
      {
        prompt: 'hello',
        model: 'm',
        provider_name: 'p',
        system_prompt: 's',
        conversation_id: 'c',
        max_steps: 3,
        max_turns: 4,
        max_cost_usd: 0.5,
        workspace_path: '/work/here/sub',
        allowed_tools: ['read', 'ls'],
        denied_tools: ['bash'],
        allow_fallback: true,
        plan_mode: true,
        permissions: { sandbox: 'local', network: 'deny', approval: 'all', unattended: 'deny' },
      },
      { prompt: 'from stdin' },
    ])
    expect(posts.map(({ headers }) => [headers.authorization, headers['idempotency-key']])).toEqual([
      ['Bearer t', 'k'],
      ['Bearer from-environment', expect.stringMatching(/^[0-9a-f-]{36}$/)],
    ])
  })

  test('a prompt from stdin is bounded', async () => {
    const { code, err } = await testEnvironment({ input: 'x'.repeat(1024 * 1024 + 1) }).run('run', '-')
    expect({ code, err }).toEqual({ code: 1, err: 'runwright: the prompt on stdin is larger than 1 MiB\n' })
  })

  test.each([
    [
      401,
      { error: { code: 'unauthorized', message: 'authorization required' } },
      'unauthorized: authorization required',
      'keys create',
    ],
    [403, { error: 'insufficient_scope', required: 'runs:write' }, 'lacks the scope runs:write', '--scope runs:write'],
    [501, { error: { code: 'not_implemented', message: 'no' } }, 'not_implemented: no', 'SVC_RUN_DB'],
    [
      400,
      { error: { code: 'invalid_request', message: '/model \u001b[2J bad' } },
      'invalid_request: /model ␛[2J bad',
      '',
    ],
    [502, 'a proxy page', 'http_502', ''],
    [404, { error: { code: 'not_found', message: 'no run x' } }, 'not_found: no run x\n', '  Check the id'],
  ])('a refusal with %i shows code, message and what helps', async (status, body, says, hint) => {
    const { baseUrl } = await serverWith({ answer: () => ({ status, body }) })
    const { code, out, err } = await testEnvironment({ baseUrl }).run('run', 'x')
    expect({ code, out }).toEqual({ code: 1, out: '' })
    expect(err).toContain(says)
    expect(err).toContain(hint)
  })

  test.each([
    [403, 'forbidden', 'permissions.sandbox: unrestricted is above the ceiling; at most workspace is allowed'],
    [404, 'not_found', 'nothing is waiting for approval in run x'],
  ])('a refusal with %i that says itself what is wrong gets no other advice', async (status, code, message) => {
    const { baseUrl } = await serverWith({ answer: () => ({ status, body: { error: { code, message } } }) })
    const { err } = await testEnvironment({ baseUrl }).run('approve', 'x')
    expect(err).toBe(`runwright: ${code}: ${message}\n`)
  })
})

describe('runs', () => {
  const run = {
    id: RUN_ID,
    status: 'failed',
    model: 'm',
    prompt: `line 1\nline\u001b 2 ${'x'.repeat(60)}`,
    error: 'boom',
  }

  test('ls is a table, or the answer itself with --json', async () => {
    const { baseUrl, seen } = await serverWith({ answer: () => ({ status: 200, body: { runs: [run] } }) })
    const { run: cli } = testEnvironment({ baseUrl })
    expect(await cli('runs', 'ls', '--status', 'failed', '--conversation', 'a b')).toEqual({
      code: 0,
      err: '',
      out: `ID                                        STATUS  MODEL  PROMPT
${RUN_ID}  failed  m      line 1 line␛ 2 xxxxxxxxxxxxxxxxxxxxxxxx…
`,
    })
    expect(seen[0]?.path).toBe('/v1/runs?status=failed&conversation_id=a+b')
    const json = await testEnvironment({ baseUrl }).run('runs', 'ls', '--json')
    expect(JSON.parse(json.out)).toEqual({ runs: [run] })
  })

  test('get shows facts, prompt and output; an unknown run is 1', async () => {
    const { baseUrl } = await serverWith({
      answer: ({ path }) => (path.endsWith(RUN_ID) ? { status: 200, body: { ...run, output: 'a\nb' } } : undefined),
    })
    const { out } = await testEnvironment({ baseUrl }).run('runs', 'get', RUN_ID)
    expect(out).toContain('error         boom\n')
    expect(out).toContain('\noutput:\n  a\n  b\n')
    expect(await testEnvironment({ baseUrl }).run('runs', 'get', '../x')).toMatchObject({
      code: 1,
      err: expect.stringContaining('/v1/runs/..%2Fx'),
    })
  })

  test('cancel prints the status', async () => {
    const { baseUrl } = await serverWith({})
    expect(await testEnvironment({ baseUrl }).run('runs', 'cancel', RUN_ID)).toEqual({
      code: 0,
      err: '',
      out: 'cancelling\n',
    })
  })
})

describe('keys', () => {
  function withKeys() {
    const store = memoryKeyStore()
    let made = 0
    const opened: [path: string, mustExist: boolean][] = []
    let closed = 0
    const overrides = {
      loadConfig: async () => ({
        entries: [],
        problems: [],
        runDb: '/data/runs.db',
      }),
      openKeyStore: async (path: string, { mustExist }: { readonly mustExist: boolean }) => {
        opened.push([path, mustExist])
        return Object.assign(Object.create(store) as typeof store, {
          close: () => {
            closed += 1
          },
        })
      },
      // The second key collides with the first, as eight random characters may.
      createApiKey: () => {
        made += 1
        const prefix = made < 3 ? 'prefix01' : `prefix0${made}`
        return { text: `${prefix}-secret-${made}`, prefix, digest: `digest-${made}` }
      },
    }
    return { cli: (...argv: string[]) => testEnvironment(overrides).run('keys', ...argv), opened, closed: () => closed }
  }

  test('create prints the token once on stdout and the warning on stderr; a taken prefix is tried again', async () => {
    const { cli, opened, closed } = withKeys()
    const first = await cli('create', '--tenant', 'acme', '--scope', 'runs:read,runs:write', '--name', 'ci')
    expect(first).toEqual({ code: 0, out: 'prefix01-secret-1\n', err: expect.stringContaining('shown once') })
    const second = await cli(
      'create',
      '--tenant',
      '',
      '--scope',
      'admin',
      '--expires',
      '2027-01-31T00:00:00+01:00',
      '--json',
    )
    expect(JSON.parse(second.out)).toEqual({
      token: 'prefix03-secret-3',
      prefix: 'prefix03',
      tenant_id: 'default',
      name: '',
      scopes: ['admin'],
      created_at: '2026-06-01T12:00:00.000Z',
      expires_at: '2027-01-30T23:00:00.000Z',
    })
    expect({ opened, closed: closed() }).toEqual({
      opened: [
        ['/data/runs.db', false],
        ['/data/runs.db', false],
      ],
      closed: 2,
    })
  })

  test('list shows no secret and no digest; revoke ends a key and says so', async () => {
    const { cli, opened } = withKeys()
    await cli('create', '--tenant', 'acme', '--scope', 'runs:read', '--name', 'ci')
    expect(await cli('revoke', 'prefix01-secret-1', '--db', '/other.db')).toEqual({
      code: 0,
      err: '',
      out: 'revoked prefix01\n',
    })
    expect(opened.at(-1)).toEqual(['/other.db', true])
    expect((await cli('list')).out).toBe(`PREFIX    TENANT  SCOPES     STATE    EXPIRES  LAST USED  NAME
prefix01  acme    runs:read  revoked  never    never      ci
`)
    expect((await cli('list', '--json')).out).not.toMatch(/digest|secret/)
    expect(await cli('revoke', 'nobody00')).toMatchObject({
      code: 1,
      err: expect.stringContaining('there is no key nobody00'),
    })
  })
})

test('config show names the source of each value; problems go to stderr', async () => {
  const entries = [
    { key: 'addr', value: '127.0.0.1:1', source: 'SVC_ADDR' },
    { key: 'search.token', value: '***', source: '/etc/team.toml' },
    { key: 'other.token', value: '', source: 'default' },
  ]
  const problems = ['SVC_MAX_STEPS is not a whole number']
  const { run } = testEnvironment({ loadConfig: async () => ({ entries, problems }) })
  expect(await run('config', 'show')).toEqual({
    code: 0,
    out: `SETTING       VALUE        SOURCE
addr          127.0.0.1:1  SVC_ADDR
search.token  ***          /etc/team.toml
other.token   -            default
`,
    err: '! SVC_MAX_STEPS is not a whole number\n',
  })
  const json = await testEnvironment({ loadConfig: async () => ({ entries, problems }) }).run(
    'config',
    'show',
    '--json',
  )
  expect(JSON.parse(json.out)).toEqual({ settings: entries, problems })
})

test('plugin check prints a line per case and fails with the plugin', async () => {
  const { run } = testEnvironment({
    checkPlugin: async directory => ({
      plugin: directory,
      cases: [{ name: 'loads' }, { name: 'closes', error: 'left a timer\n  behind' }],
    }),
  })
  expect(await run('plugin', 'check', 'mine')).toEqual({
    code: 1,
    err: '',
    out: `✓ loads
✗ closes
    left a timer
      behind
/work/here/mine breaks the contract in 1 of 2 cases
`,
  })
})

test('plugin ls shows what each plugin adds and its last error', async () => {
  const adds = { hooks: ['runSettled'], tools: ['read'], routes: [], ports: [], background: [] }
  const plugins = [
    { name: 'files', state: 'running', generation: 'files@ab#1', adds },
    { name: 'acme', state: 'failed', adds: {}, last_error: 'index.ts:3:7: what' },
  ]
  const { baseUrl } = await serverWith({ answer: () => ({ status: 200, body: { plugins } }) })
  expect((await testEnvironment({ baseUrl }).run('plugin', 'ls')).out).toBe(`PLUGIN  STATE    GENERATION  ADDS
files   running  files@ab#1  hooks: runSettled; tools: read
acme    failed

acme: index.ts:3:7: what
`)
})
