import type { PermissionRules } from '#contracts/approval'
import { messageOf } from '#contracts/errors'
import type { PendingCall } from '#contracts/hooks'
import type { PluginLog } from '#contracts/plugin'
import type { ActiveRun } from '#contracts/run/active-run'
import type { PermissionRule } from '#contracts/run/policy'
import type { WorkspaceFiles } from '#contracts/workspace-files'
import { parseRulePattern, type RulePattern } from './rule-pattern.js'
import { type Subject, subjectOf } from './subjects.js'

type Effect = PermissionRule['effect']

/** A rule whose pattern was read. */
export interface CompiledRule extends RulePattern {
  readonly effect: Effect
}

const COMPILED = Symbol('compiled rules')
const STRENGTH: Readonly<Record<Effect, number>> = { allow: 0, ask: 1, deny: 2 }

/** The rules of runs; each call is judged once, however many ask. */
export class JudgedRules implements PermissionRules {
  readonly #judged = new WeakMap<PendingCall, Promise<Effect | undefined>>()

  constructor(
    private readonly files: WorkspaceFiles | undefined,
    private readonly log: PluginLog,
  ) {}

  effectOn(call: PendingCall, run: ActiveRun): Promise<Effect | undefined> {
    const judged = this.#judged.get(call) ?? this.#judge(call, run)
    this.#judged.set(call, judged)
    return judged
  }

  async #judge(call: PendingCall, run: ActiveRun): Promise<Effect | undefined> {
    const name = call.tool.name.toLowerCase()
    try {
      const rules = run.slot(COMPILED, () => compileRules(run.policy.rules)).filter(({ tool }) => tool === name)
      const needsSubject = rules.some(({ argument }) => argument !== undefined)
      const subject = needsSubject ? await subjectOf(call, run.workspace, this.files) : undefined
      return strongest(rules.filter(rule => doesMatch(rule, subject)))?.effect
    } catch (error) {
      this.log.info({ run: run.id, tool: name, error: messageOf(error) }, 'rules could not be evaluated: denied')
      return 'deny'
    }
  }
}

/** Of the rules that match, the most specific; among equals deny before ask before allow. */
export function strongest<R extends Pick<CompiledRule, 'specificity' | 'effect'>>(rules: readonly R[]): R | undefined {
  return rules.reduce<R | undefined>((best, rule) => (best === undefined || beats(rule, best) ? rule : best), undefined)
}

function beats(rule: Pick<CompiledRule, 'specificity' | 'effect'>, best: typeof rule): boolean {
  if (rule.specificity !== best.specificity) return rule.specificity > best.specificity
  return STRENGTH[rule.effect] > STRENGTH[best.effect]
}

function doesMatch({ argument, effect }: CompiledRule, subject: Subject | undefined): boolean {
  if (argument === undefined) return true
  if (subject === undefined) return false
  return effect === 'allow' ? subject.isCoveredBy(argument) : subject.isTouchedBy(argument)
}

function compileRules(rules: readonly PermissionRule[]): readonly CompiledRule[] {
  return rules.map(({ pattern, effect }) => {
    const read = parseRulePattern(pattern)
    if (typeof read === 'string') throw new Error(`${pattern}: ${read}`)
    return { ...read, effect }
  })
}
