import { expect, test, vi } from 'vitest'
import { checkBaseUrl, isSamePlace, type Resolve } from './base-url.js'

const nobody: Resolve = async () => {
  throw new Error('ENOTFOUND')
}
const standsFor =
  (...addresses: readonly string[]): Resolve =>
  async () =>
    addresses
const complaint = (text: string, resolve: Resolve = nobody) =>
  checkBaseUrl(text, resolve).then(
    url => `taken: ${url}`,
    (error: Error) => error.message,
  )

test.each([
  ['https://api.acme.test/v1', 'https://api.acme.test/v1'],
  ['https://API.acme.test:443/v1///', 'https://api.acme.test/v1'],
  ['  http://localhost:8000  ', 'http://localhost:8000'],
  ['http://127.0.0.1:11434/v1/', 'http://127.0.0.1:11434/v1'],
  ['http://10.0.0.7/v1', 'http://10.0.0.7/v1'],
  ['http://192.168.1.2:1234/v1', 'http://192.168.1.2:1234/v1'],
  ['http://[::1]:8080/v1', 'http://[::1]:8080/v1'],
])('%s is taken as %s', async (given, kept) => {
  expect(await checkBaseUrl(given, nobody)).toBe(kept)
})

test.each([
  'http://169.254.169.254/latest',
  'http://169.254.0.1',
  'http://[::ffff:169.254.169.254]/',
  'http://[::ffff:a9fe:a9fe]/',
  'http://[64:ff9b::a9fe:a9fe]/',
  'http://[fe80::1]/',
  'http://[fd00:ec2::254]/latest',
  'http://100.100.100.200/',
  'http://168.63.129.16/',
  'http://0.0.0.0:8080/',
  'http://[::]/',
  'http://224.0.0.1/',
  'http://255.255.255.255/',
  'http://metadata.google.internal/computeMetadata/v1',
  'http://metadata.google.internal./computeMetadata/v1',
])('%s is an address of the platform', async given => {
  expect(await complaint(given)).toContain('the machine’s own platform')
})

test('a name that stands for such an address is refused, also beside a harmless one', async () => {
  expect(await complaint('http://innocent.test', standsFor('93.184.216.34', '169.254.169.254'))).toContain('platform')
  expect(await complaint('http://innocent.test', standsFor('93.184.216.34'))).toBe('taken: http://innocent.test')
})

test.each([
  ['ftp://acme.test', 'absolute http or https'],
  ['file:///etc/passwd', 'absolute http or https'],
  ['acme.test/v1', 'absolute http or https'],
  ['//acme.test/v1', 'absolute http or https'],
  ['http:acme.test', 'absolute http or https'],
  ['http:///v1', 'absolute http or https'],
  ['http://', 'absolute http or https'],
  ['javascript:alert(1)', 'absolute http or https'],
  ['http://acme.test\\@evil.test', 'absolute http or https'],
  ['http://acme.test/\u0000', 'absolute http or https'],
  ['http://acme.test/a\nb', 'absolute http or https'],
  ['https://user:pass@acme.test', 'user name or password'],
  ['https://@acme.test', 'user name or password'],
  ['https://acme.test?key=x', 'query or fragment'],
  ['https://acme.test/?', 'query or fragment'],
  ['https://acme.test/#x', 'query or fragment'],
  ['http://0x7f.1/v1', 'four numbers plainly'],
  ['http://2852039166/', 'four numbers plainly'],
  ['http://0251.0376.0251.0376/', 'four numbers plainly'],
  [`http://acme.test/${'x'.repeat(3000)}`, 'longer than 2048'],
])('%j is refused: %s', async (given, why) => {
  const message = await complaint(given)
  expect(message).toMatch(/^base_url: /)
  expect(message).toContain(why)
})

test('a look-up that never ends does not hold up the request', async () => {
  vi.useFakeTimers()
  try {
    const checked = complaint('http://slow.test', () => new Promise(() => undefined))
    await vi.advanceTimersByTimeAsync(3_000)
    expect(await checked).toBe('taken: http://slow.test')
    expect(vi.getTimerCount()).toBe(0)
  } finally {
    vi.useRealTimers()
  }
})

test('places are compared as addresses, not as texts', () => {
  expect(isSamePlace('https://a.test/v1/', 'https://A.test:443/v1')).toBe(true)
  expect(isSamePlace('https://a.test/v1', 'https://a.test/v2')).toBe(false)
  expect(isSamePlace('https://a.test/v1', 'http://a.test/v1')).toBe(false)
  expect(isSamePlace('nonsense', 'nonsense')).toBe(false)
  expect(isSamePlace(undefined, undefined)).toBe(false)
})
