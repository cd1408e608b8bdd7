import type { Detected, Finder } from './detected.ts';
import { library } from './lines.ts';

/** Releases with images of a JDK, of Maven and of Gradle. Others get the next later one. */
const releases = [8, 11, 17, 21, 25];
const buildFiles = ['pom.xml', 'build.gradle.kts', 'build.gradle', 'settings.gradle.kts', 'settings.gradle'];

const versions = [
  /<(?:java\.version|maven\.compiler\.release|release|maven\.compiler\.target|maven\.compiler\.source)>(?:1\.)?(\d+)</,
  /JavaLanguageVersion\.of\((\d+)/,
  /jvmToolchain\((\d+)/,
  /VERSION_(?:1_)?(\d+)/,
  /sourceCompatibility\s*=\s*["']?(?:1\.)?(\d+)/,
];

export const java: Finder = async (folder, names) => {
  const because = buildFiles.find((name) => names.includes(name));
  if (because === undefined) return null;
  const tool = because === 'pom.xml' ? 'maven' : 'gradle';
  const isBuildFile =
    tool === 'maven' ? /(^|\/)pom\.xml$/ : /(^|\/)(build|settings)\.gradle(\.kts)?$|^gradle\/libs\.versions\.toml$/;
  const all = names.filter((name) => isBuildFile.test(name));
  const text = (await Promise.all(all.map((name) => folder.read(name)))).join('\n');
  const stated = versions.flatMap((version) => version.exec(text)?.[1] ?? [])[0];
  const release = stated === undefined ? undefined : (releases.find((one) => one >= Number(stated)) ?? Number(stated));
  const framework = /spring-boot|org\.springframework\.boot/.test(text)
    ? 'spring'
    : text.includes('io.quarkus')
      ? 'quarkus'
      : text.includes('io.micronaut')
        ? 'micronaut'
        : '';
  // Without a plugin that makes one archive of all, only the distribution has the libraries.
  const isDistribution = tool === 'gradle' && framework === '' && /\bapplication\b/.test(text) && !/shadow/i.test(text);
  const facts = {
    tool,
    framework,
    hasWrapper: String(names.includes(tool === 'maven' ? 'mvnw' : 'gradlew')),
    isMulti: String(tool === 'maven' ? text.includes('<modules>') : all.some((name) => /\/build\.gradle/.test(name))),
    isDistribution: String(isDistribution),
  };
  return { language: 'Java', because, version: release === undefined ? null : String(release), facts };
};

/** Variables with which frameworks take their port. They do not know PORT. */
const portVariables: Readonly<Record<string, string>> = {
  spring: 'SERVER_PORT',
  quarkus: 'QUARKUS_HTTP_PORT',
  micronaut: 'MICRONAUT_SERVER_PORT',
};

export function javaFile({ version, port, facts }: Detected): string {
  const { tool, framework = '', hasWrapper, isMulti, isDistribution } = facts;
  const release = Number(version ?? '21');
  const isMaven = tool === 'maven';
  // Gradle 8 does not run on newer releases.
  const gradle = release >= 25 ? 9 : 8;
  const image = isMaven ? `maven:3-eclipse-temurin-${release}` : `gradle:${gradle}-jdk${release}`;
  const program = hasWrapper === 'true' ? `sh ./${isMaven ? 'mvnw' : 'gradlew'}` : isMaven ? 'mvn' : 'gradle';
  const single = framework === 'quarkus' ? ' -Dquarkus.package.jar.type=uber-jar' : '';
  const task = isMaven
    ? '--batch-mode package -DskipTests'
    : `--no-daemon ${isDistribution === 'true' ? 'installDist' : 'assemble'}`;
  const build = `${program} ${task}${single}`;
  const at = isMaven ? 'target' : framework === 'quarkus' ? 'build' : 'build/libs';
  const archives = isMulti === 'true' ? `$(find . -path '*/${at}/*.jar' -o -path '*/${at}/*.war')` : `${at}/*.[jw]ar`;
  const taking =
    isDistribution === 'true'
      ? `RUN ${build} \\
 && mv "$(find . -path '*build/install/*' -prune | head -n 1)" /app && rm /app/bin/*.bat && mv /app/bin/* /app/bin/start`
      : `# The largest archive is the one that contains its libraries.
RUN ${build} \\
 && cp "$(ls -S ${archives} | head -n 1)" /app.jar`;
  const variable = portVariables[framework];
  const [copy, start] =
    isDistribution === 'true'
      ? ['COPY --from=build /app /app', '["/app/bin/start"]']
      : ['COPY --from=build /app.jar /app.jar', '["java", "-jar", "/app.jar"]'];
  return `FROM ${library}/${image} AS build
WORKDIR /src
${fetching(isMaven, hasWrapper === 'true', isMulti === 'true')}COPY . .
${taking}

FROM ${library}/eclipse-temurin:${release}-jre
${copy}
# The heap may use most of the memory of the container, instead of a quarter.
ENV PORT=${port}${variable === undefined ? '' : ` ${variable}=${port}`} JDK_JAVA_OPTIONS=-XX:MaxRAMPercentage=75
USER nobody
EXPOSE ${port}
CMD ${start}`;
}

/** Returns the lines that fetch what seldom changes. Builds of several modules need all files for that. */
function fetching(isMaven: boolean, hasWrapper: boolean, isMulti: boolean): string {
  if (isMaven) {
    if (isMulti) return '';
    const [files, program] = hasWrapper ? ['COPY mvnw pom.xml ./\nCOPY .mvn .mvn', 'sh ./mvnw'] : ['COPY pom.xml ./', 'mvn'];
    return `# Libraries are fetched again only when these files change.\n${files}\nRUN ${program} --batch-mode dependency:go-offline\n`;
  }
  return hasWrapper ? '# Gradle is fetched once.\nCOPY gradlew ./\nCOPY gradle gradle\nRUN sh ./gradlew --version\n' : '';
}
