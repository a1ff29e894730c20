import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { CollectionDefinition, RecordNamespace, Records } from '#contracts/store/records'
import type { OpenStore, StoreOpener } from './samples.js'

interface Job {
  readonly name: string
  readonly due?: number | string
}

const jobs = (over: Partial<CollectionDefinition<Job>> = {}): CollectionDefinition<Job> => ({
  name: 'cron-job',
  namespace: 'run',
  indexes: { due: job => job.due, name: job => job.name },
  unique: ['name'],
  ...over,
})
const NAMESPACES: readonly RecordNamespace[] = ['run', 'conversation', 'relay', 'state']

/** Every promise of `Records`. */
export function describeRecords(name: string, open: StoreOpener<Records>): void {
  describe(`${name} keeps the promises of records`, () => {
    let opened: OpenStore<Records>
    let records: Records
    const reopened = async () => {
      if (!opened.reopen) return
      opened = await opened.reopen()
      records = opened.store
    }
    beforeEach(async () => {
      opened = await open()
      records = opened.store
    })
    afterEach(() => opened.close())

    test.each(NAMESPACES)('what is put into %s is read back as a copy with its version', async namespace => {
      const collection = records.collection<{ list: number[] }>({ name: 'things', namespace })
      const value = { list: [1, 2] }
      expect(await collection.put('t', 'k', value)).toEqual({ kind: 'written', version: 1 })
      value.list.push(3)
      expect(await collection.put('t', 'k', value)).toEqual({ kind: 'written', version: 2 })
      if (records.isDurable(namespace)) await reopened()
      const again = records.collection<{ list: number[] }>({ name: 'things', namespace })
      const read = await again.get('t', 'k')
      expect(read).toEqual({ tenantId: 't', key: 'k', value: { list: [1, 2, 3] }, version: 2 })
      read!.value.list.push(4)
      expect((await again.get('t', 'k'))?.value).toEqual({ list: [1, 2, 3] })
    })

    test('namespaces and tenants do not see each other', async () => {
      const here = records.collection<Job>(jobs())
      const there = records.collection<Job>(jobs({ namespace: 'state' }))
      await here.put('t', 'k', { name: 'n' })
      expect(await there.get('t', 'k')).toBeUndefined()
      expect(await here.get('u', 'k')).toBeUndefined()
      expect(await here.remove('u', 'k')).toBe(false)
      expect(await here.scan({ tenantId: 'u' })).toEqual([])
      expect(await here.put('u', 'k', { name: 'n' }, 0)).toEqual({ kind: 'written', version: 1 })
    })

    test('of fifty writers that saw the same version one wins', async () => {
      const collection = records.collection<Job>(jobs())
      const race = (expected: number) =>
        Promise.all(Array.from({ length: 50 }, () => collection.put('t', 'k', { name: 'n' }, expected)))
      for (const expected of [0, 1]) {
        const kinds = (await race(expected)).map(({ kind }) => kind)
        expect(kinds.filter(kind => kind === 'written')).toHaveLength(1)
      }
      expect(await collection.put('t', 'other', { name: 'm' }, 3)).toEqual({ kind: 'conflict' })
      expect(await collection.remove('t', 'k', 1)).toBe(false)
      expect(await collection.remove('t', 'k', 2)).toBe(true)
      expect(await collection.remove('t', 'k')).toBe(false)
      expect(await collection.put('t', 'k', { name: 'n' }, 2)).toEqual({ kind: 'conflict' })
      expect(await collection.put('t', 'k', { name: 'n' }, 0)).toEqual({ kind: 'written', version: 1 })
    })

    test('a unique index refuses a second record of the tenant, and frees the value with its record', async () => {
      const collection = records.collection<Job>(jobs())
      await collection.put('t', 'a', { name: 'daily' })
      expect(await collection.put('t', 'b', { name: 'daily' })).toEqual({ kind: 'conflict' })
      expect(await collection.get('t', 'b')).toBeUndefined()
      expect(await collection.put('u', 'b', { name: 'daily' })).toMatchObject({ kind: 'written' })
      expect(await collection.put('t', 'a', { name: 'daily', due: 1 })).toMatchObject({ kind: 'written' })
      await collection.put('t', 'a', { name: 'weekly' })
      expect(await collection.put('t', 'b', { name: 'daily' })).toMatchObject({ kind: 'written' })
      await collection.remove('t', 'b')
      expect(await collection.put('t', 'c', { name: 'daily' })).toMatchObject({ kind: 'written' })
    })

    test('scans go in the order of an index, then of the key, inside bounds', async () => {
      const collection = records.collection<Job>(jobs({ unique: [] }))
      const put = (tenant: string, key: string, due?: number | string) =>
        collection.put(tenant, key, { name: 'x', ...(due === undefined ? {} : { due }) })
      await put('t', 'e', 2.5)
      await put('t', 'd', 10)
      await put('t', 'c', 10)
      await put('t', 'b', 'text')
      await put('t', 'a', -1)
      await put('t', 'none')
      await put('u', 'c', 10)
      await put('u', 'z', 3)
      await reopened()
      const again = records.collection<Job>(jobs({ unique: [] }))
      const keys = async (scan: Parameters<typeof again.scan>[0]) =>
        (await again.scan(scan)).map(({ tenantId, key }) => tenantId + key)
      expect(await keys({ tenantId: 't', index: 'due' })).toEqual(['ta', 'te', 'tc', 'td', 'tb'])
      expect(await keys({ tenantId: 't', index: 'due', isReverse: true })).toEqual(['tb', 'td', 'tc', 'te', 'ta'])
      expect(await keys({ tenantId: 't', index: 'due', from: 2.5, below: 10 })).toEqual(['te'])
      expect(await keys({ tenantId: 't', index: 'due', from: 10, limit: 2 })).toEqual(['tc', 'td'])
      expect(await keys({ index: 'due', from: 2, below: 11 })).toEqual(['te', 'uz', 'tc', 'uc', 'td'])
      expect(await keys({ tenantId: 't' })).toEqual(['ta', 'tb', 'tc', 'td', 'te', 'tnone'])
      expect(await keys({ tenantId: 't', from: 'b', below: 'd', isReverse: true })).toEqual(['tc', 'tb'])
      expect(await keys({ limit: 4 })).toEqual(['ta', 'tb', 'tc', 'uc'])
      await expect(again.scan({ index: 'nope' })).rejects.toMatchObject({ code: 'internal_error' })
    })

    test('texts are ordered by code point', async () => {
      const collection = records.collection<Job>(jobs())
      for (const key of ['\u{1f600}', '\ufffd', 'z', 'Z', 'é']) await collection.put('t', key, { name: key })
      const order = ['Z', 'z', 'é', '\ufffd', '\u{1f600}']
      expect((await collection.scan({ tenantId: 't' })).map(({ key }) => key)).toEqual(order)
      expect((await collection.scan({ tenantId: 't', index: 'name' })).map(({ key }) => key)).toEqual(order)
    })

    test('a scan gives a hundred when not told otherwise', async () => {
      const collection = records.collection<Job>(jobs())
      await Promise.all(
        Array.from({ length: 120 }, (_, index) => collection.put('t', `k${index}`, { name: `n${index}` })),
      )
      expect(await collection.scan({})).toHaveLength(100)
      expect(await collection.scan({ limit: 1_000 })).toHaveLength(120)
    })

    test('a changed index list re-indexes what is there', async () => {
      const before = records.collection<Job>(jobs({ indexes: { due: job => job.due }, unique: [] }))
      const count = 450
      await Promise.all(
        Array.from({ length: count }, (_, index) =>
          before.put(index % 2 ? 't' : 'u', `k${index}`, { name: `n${count - index}`, due: index }),
        ),
      )
      await reopened()
      const after = records.collection<Job>(
        jobs({ indexes: { name: job => job.name, length: job => job.name.length }, unique: ['name'] }),
      )
      const [longest] = await after.scan({ index: 'length', isReverse: true, limit: 1 })
      expect(longest?.value.name).toHaveLength(4)
      expect(await after.scan({ index: 'name', limit: 1_000 })).toHaveLength(count)
      expect((await after.scan({ tenantId: 't', index: 'name', limit: 1 }))[0]?.value.name).toBe('n1')
      expect(await after.put('t', 'new', { name: 'n1' })).toEqual({ kind: 'conflict' })
      await expect(after.scan({ index: 'due' })).rejects.toMatchObject({ code: 'internal_error' })
    })
  })
}
